#include "export/perfetto/samples.h"

#include <string>
#include <vector>

#include "export/perfetto/intern.h"

namespace sonde::exporting {

namespace {

constexpr uint32_t kNone = IdIndex::kNone;

// TracePacket, and TracePacketDefaults
constexpr uint32_t kTrackEvent = 11, kInternedData = 12, kPerfSample = 66, kPerfSampleDefaults = 12;
// InternedData
constexpr uint32_t kFunctionNames = 5, kFrames = 6, kCallstacks = 7, kBuildIds = 16,
                   kMappingPaths = 17, kSourcePaths = 18, kMappings = 19;
// TrackEvent
constexpr uint32_t kCategoryIids = 3, kType = 9, kTrackUuid = 11, kName = 23, kCallStackIid = 56;
constexpr uint64_t kBegin = 1, kEnd = 2;
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
      const size_t packet = stream_.begin_packet(sample.time_ns);
      const size_t body = out_.begin(kPerfSample);
      out_.varint(1, 0);  // which CPU is not known
      out_.varint(2, static_cast<uint64_t>(numbers_.pid(sample.pid)));
      out_.varint(3, static_cast<uint64_t>(numbers_.tid(sample.pid, sample.tid)));
      out_.varint(4, uint64_t{sample.stack} + 1);
      out_.varint(5, kUserMode);
      out_.end(body);
      stream_.end_packet(packet);
      ++written;
    }
    return written;
  }

  void slice(const BlockedSlice& blocked, uint64_t category) {
    intern_stack(blocked.stack);
    size_t packet = stream_.begin_packet(blocked.start_ns);
    size_t event = out_.begin(kTrackEvent);
    out_.varint(kType, kBegin);
    out_.varint(kTrackUuid, blocked.track);
    out_.varint(kCategoryIids, category);
    out_.bytes(kName,
               fit_text(samples_.frames[samples_.stacks[blocked.stack].frame].text, scratch_));
    out_.varint(kCallStackIid, uint64_t{blocked.stack} + 1);
    out_.end(event);
    stream_.end_packet(packet);
    packet = stream_.begin_packet(blocked.end_ns);
    event = out_.begin(kTrackEvent);
    out_.varint(kType, kEnd);
    out_.varint(kTrackUuid, blocked.track);
    out_.end(event);
    stream_.end_packet(packet);
  }

 private:
  // One entry of InternedData in a packet of its own. Numbers are indices + 1.
  template <typename Fields>
  void intern(uint32_t field, uint64_t iid, Fields&& fields) {
    const size_t packet = stream_.begin_packet();
    const size_t data = out_.begin(kInternedData);
    const size_t entry = out_.begin(field);
    out_.varint(1, iid);
    fields();
    out_.end(entry);
    out_.end(data);
    stream_.end_packet(packet);
  }
  void intern_text(uint32_t field, uint64_t iid, std::string_view text) {
    intern(field, iid, [&] { out_.bytes(2, fit_text(text, scratch_)); });
  }

  // Python's code, and native code that belongs to no file, is in the last one.
  uint64_t mapping(uint32_t module) {
    const size_t index = module == kNone ? samples_.modules.size() : module;
    if (!mappings_[index]) {
      mappings_[index] = true;
      const uint64_t iid = index + 1;
      const bool known = module != kNone;
      intern_text(kMappingPaths, iid, known ? samples_.modules[module].path : "python");
      intern(kBuildIds, iid,
             [&] { out_.bytes(2, known ? bytes_of_hex(samples_.modules[module].build_id) : ""); });
      intern(kMappings, iid, [&] {
        out_.varint(2, iid);
        out_.varint(7, iid);
      });
    }
    return index + 1;
  }

  void intern_frame(uint32_t index) {
    if (frames_[index]) return;
    frames_[index] = true;
    const SampleFrame& frame = samples_.frames[index];
    const uint64_t iid = uint64_t{index} + 1, place = mapping(frame.module);
    intern_text(kFunctionNames, iid, frame.text);
    if (!frame.file.empty()) intern_text(kSourcePaths, iid, frame.file);
    intern(kFrames, iid, [&] {
      out_.varint(2, iid);
      out_.varint(3, place);
      out_.varint(4, static_cast<uint64_t>(frame.is_python ? frame.line : frame.address));
      if (!frame.file.empty()) out_.varint(5, iid);
      if (frame.line > 0) out_.varint(6, static_cast<uint64_t>(frame.line));
      out_.varint(7, frame.is_python ? kInterpretedFrame : kNativeFrame);
    });
  }

  void intern_stack(uint32_t index) {
    if (stacks_[index]) return;
    stacks_[index] = true;
    std::vector<uint32_t> path;  // from the innermost
    for (uint32_t at = index; at != kNone; at = samples_.stacks[at].parent) {
      path.push_back(samples_.stacks[at].frame);
      intern_frame(path.back());
    }
    intern(kCallstacks, uint64_t{index} + 1, [&] {
      for (size_t i = path.size(); i-- > 0;) out_.varint(2, uint64_t{path[i]} + 1);
    });
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
  const size_t defaults = out.begin(kPerfSampleDefaults);
  const size_t timebase = out.begin(1);
  out.varint(4, kCpuClock);
  out.end(timebase);
  out.end(defaults);
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
