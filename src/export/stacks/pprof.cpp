// pprof's profile.proto, gzip (docs/exports.md): each call path is a sample with its calls, host
// time and device time, or with its samples, CPU time and time blocked.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "export/exporter.h"
#include "export/output/protobuf.h"
#include "export/output/sink.h"
#include "export/stacks/stacks.h"

namespace sonde::exporting {

namespace {

// Field numbers of profile.proto.
namespace profile_field {
constexpr uint32_t kSampleType = 1, kSample = 2, kLocation = 4, kFunction = 5, kString = 6,
                   kTime = 9, kDuration = 10, kDefaultSampleType = 14;
}

class PprofWriter {
 public:
  PprofWriter(const Events& events, const Stacks& stacks, Sink& sink)
      : events_(events), stacks_(stacks), sink_(sink) {}

  void write() {
    types();
    samples();
    places();
    strings();
    out_.varint(profile_field::kTime, static_cast<uint64_t>(events_.first_ns));
    take();
  }

 private:
  // The first text must be empty; a frame's text is kFirstFrame + its index.
  static constexpr const char* kFixed[] = {"",       "calls",   "count", "host",   "nanoseconds",
                                           "device", "samples", "cpu",   "blocked"};
  static constexpr uint64_t kFirstFrame = std::size(kFixed);

  void types() {
    for (const auto& [type, unit] :
         {std::pair<int, int>{1, 2}, {3, 4}, {5, 4}, {6, 2}, {7, 4}, {8, 4}}) {
      const ProtoMessage body(out_, profile_field::kSampleType);
      out_.varint(1, static_cast<uint64_t>(type));
      out_.varint(2, static_cast<uint64_t>(unit));
    }
    const bool is_sampled = std::any_of(stacks_.nodes.begin(), stacks_.nodes.end(),
                                        [](const StackNode& node) { return node.samples > 0; });
    out_.varint(profile_field::kDefaultSampleType, is_sampled ? 7 : 3);
  }

  void samples() {
    for (uint32_t i = 0; i < stacks_.nodes.size(); ++i) {
      const StackNode& node = stacks_.nodes[i];
      if (node.calls == 0 && node.samples == 0) continue;
      take();
      const ProtoMessage sample(out_, profile_field::kSample);
      const std::vector<uint32_t> path = stacks_.path(i);
      for (size_t at = path.size(); at-- > 0;) out_.varint(1, path[at] + 1);  // leaf first
      out_.varint(2, node.calls);
      out_.varint(2, static_cast<uint64_t>(std::max<int64_t>(node.host_ns, 0)));
      out_.varint(2, static_cast<uint64_t>(node.device_ns));
      out_.varint(2, node.samples);
      out_.varint(2, static_cast<uint64_t>(std::max<int64_t>(node.cpu_ns, 0)));
      out_.varint(2, static_cast<uint64_t>(std::max<int64_t>(node.blocked_ns, 0)));
    }
  }

  // One location and one function for each frame, numbered from 1.
  void places() {
    for (uint64_t i = 0; i < stacks_.frames.size(); ++i) {
      take();
      {
        const ProtoMessage location(out_, profile_field::kLocation);
        out_.varint(1, i + 1);
        const ProtoMessage line(out_, 4);
        out_.varint(1, i + 1);
      }
      const ProtoMessage function(out_, profile_field::kFunction);
      out_.varint(1, i + 1);
      out_.varint(2, kFirstFrame + i);
      out_.varint(3, kFirstFrame + i);
    }
  }

  void strings() {
    for (const char* const text : kFixed) out_.bytes(profile_field::kString, text);
    for (const std::string& frame : stacks_.frames) {
      out_.bytes(profile_field::kString, valid_utf8(frame));
      take();
    }
  }

  void take() {
    sink_.append(out_.view());
    out_.clear();
  }

  const Events& events_;
  const Stacks& stacks_;
  Sink& sink_;
  ProtoBuffer out_;
};

Result<Counts> write_pprof(store::Reader& reader, const std::string& path, const Options& options) {
  return write_profile(reader, path, options, Sink::Encoding::kGzip,
                       [](const Events& events, const Stacks& stacks, Sink& sink) {
                         PprofWriter(events, stacks, sink).write();
                       });
}

}  // namespace

Exporter pprof_exporter() {
  return {"pprof",
          "profile.proto for pprof: calls, samples, host, device and CPU time by call path",
          {".pb.gz", ".pprof"},
          write_pprof};
}

}  // namespace sonde::exporting
