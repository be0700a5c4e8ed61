#include "export/perfetto/samples.h"

#include <string>
#include <vector>

#include "export/perfetto/intern.h"

namespace sonde::exporting {

namespace {

constexpr uint32_t kNone = IdIndex::kNone;

// TracePacket, and TracePacketDefaults
constexpr uint32_t kPerfSample = 66, kPerfSampleDefaults = 12;
// TrackEvent
constexpr uint32_t kCallStackIid = 56;
constexpr uint64_t kCpuClock = 1, kUserMode = 2, kNativeFrame = 1, kInterpretedFrame = 3;

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  }
  return bytes;
}

class SampleWriter {
 public:
  SampleWriter(PacketStream& stream, const CallSamples& samples, ViewerNumbers& numbers)
      : stream_(stream),
        out_(stream.out()),
        samples_(samples),
        numbers_(numbers),
        frames_(samples.frames.size()),
        mappings_(samples.modules.size() + 1),
        stacks_(samples.stacks.size()) {}

  uint64_t write() {
    uint64_t written = 0;
    for (const CallSample& sample : samples_.samples) {
      if (sample.cpu_ns <= 0 || sample.time_ns < 0) continue;
      intern_stack(sample.stack);
      const Packet packet(stream_, kPerfSample, sample.time_ns);
      out_.varint(1, 0);  // which CPU is not known
      out_.varint(2, static_cast<uint64_t>(numbers_.pid(sample.pid)));
      out_.varint(3, static_cast<uint64_t>(numbers_.tid(sample.pid, sample.tid)));
      out_.varint(4, uint64_t{sample.stack} + 1);
      out_.varint(5, kUserMode);
      ++written;
    }
    return written;
  }

  void slice(const BlockedSlice& blocked, uint64_t category) {
    intern_stack(blocked.stack);
    {
      const TrackEvent event(stream_, kBegin, blocked.track, blocked.start_ns);
      out_.varint(kCategoryIids, category);
      out_.bytes(kName,
                 fit_text(samples_.frames[samples_.stacks[blocked.stack].frame].text, scratch_));
      out_.varint(kCallStackIid, uint64_t{blocked.stack} + 1);
    }
    const TrackEvent end(stream_, kEnd, blocked.track, blocked.end_ns);
  }

 private:
  // Numbers are indices + 1. Python's code, and native code that belongs to no file, is in the last
  // one.
  uint64_t mapping(uint32_t module) {
    const size_t index = module == kNone ? samples_.modules.size() : module;
    static const SampleModule python{"python", ""};
    if (!mappings_[index]) {
      mappings_[index] = true;
      const uint64_t iid = index + 1;
      const SampleModule& known = module == kNone ? python : samples_.modules[module];
      write_interned(stream_, InternField::kMappingPath, iid, known.path);
      {
        const InternedEntry id(stream_, InternField::kBuildId, iid);
        out_.bytes(2, bytes_of_hex(known.build_id));
      }
      const InternedEntry entry(stream_, InternField::kMapping, iid);
      out_.varint(2, iid);
      out_.varint(7, iid);
    }
    return index + 1;
  }

  void intern_frame(uint32_t index) {
    if (frames_[index]) return;
    frames_[index] = true;
    const SampleFrame& frame = samples_.frames[index];
    const uint64_t iid = uint64_t{index} + 1, place = mapping(frame.module);
    write_interned(stream_, InternField::kFunctionName, iid, frame.text);
    if (!frame.file.empty()) write_interned(stream_, InternField::kSourcePath, iid, frame.file);
    const InternedEntry entry(stream_, InternField::kFrame, iid);
    out_.varint(2, iid);
    out_.varint(3, place);
    out_.varint(4, static_cast<uint64_t>(frame.is_python ? frame.line : frame.address));
    if (!frame.file.empty()) out_.varint(5, iid);
    if (frame.line > 0) out_.varint(6, static_cast<uint64_t>(frame.line));
    out_.varint(7, frame.is_python ? kInterpretedFrame : kNativeFrame);
  }

  void intern_stack(uint32_t index) {
    if (stacks_[index]) return;
    stacks_[index] = true;
    std::vector<uint32_t> path;  // from the innermost
    for (uint32_t at = index; at != kNone; at = samples_.stacks[at].parent) {
      path.push_back(samples_.stacks[at].frame);
      intern_frame(path.back());
    }
    const InternedEntry entry(stream_, InternField::kCallStack, uint64_t{index} + 1);
    for (size_t i = path.size(); i-- > 0;) out_.varint(2, uint64_t{path[i]} + 1);
  }

  PacketStream& stream_;
  ProtoBuffer& out_;
  const CallSamples& samples_;
  ViewerNumbers& numbers_;
  std::vector<bool> frames_, mappings_, stacks_;
  std::string scratch_;
};

}  // namespace

void write_sample_defaults(ProtoBuffer& out) {
  const ProtoMessage defaults(out, kPerfSampleDefaults);
  const ProtoMessage timebase(out, 1);
  out.varint(4, kCpuClock);
}

uint64_t write_call_samples(PacketStream& stream, const CallSamples& samples,
                            ViewerNumbers& numbers, const std::vector<BlockedSlice>& blocked,
                            uint64_t category) {
  SampleWriter writer(stream, samples, numbers);
  const uint64_t written = writer.write();
  for (const BlockedSlice& slice : blocked) writer.slice(slice, category);
  return written + blocked.size();
}

}  // namespace sonde::exporting
