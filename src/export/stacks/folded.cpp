// Collapsed stacks (docs/exports.md): a line for each call path, "a;b;c NANOSECONDS", as flame
// graph tools read them. Sampled CPU time where the file has it, else the time of calls; and those
// and device time apart.
#include <algorithm>
#include <string>

#include "export/exporter.h"
#include "export/output/json_text.h"
#include "export/output/sink.h"
#include "export/stacks/stacks.h"

namespace sonde::exporting {

namespace {

// ';' and line ends part frames and lines.
std::string frame_text(std::string text) {
  std::replace(text.begin(), text.end(), ';', ':');
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

bool has_samples(const Stacks& stacks) {
  return std::any_of(stacks.nodes.begin(), stacks.nodes.end(),
                     [](const StackNode& node) { return node.cpu_ns > 0; });
}

void write_lines(Stacks& stacks, int64_t StackNode::*weight, Sink& sink) {
  for (std::string& frame : stacks.frames) frame = frame_text(std::move(frame));
  for (uint32_t i = 0; i < stacks.nodes.size(); ++i) {
    if (stacks.nodes[i].*weight <= 0) continue;
    bool first = true;
    for (const uint32_t frame : stacks.path(i)) {
      if (!first) sink.append(";");
      first = false;
      sink.append(stacks.frames[frame]);
    }
    sink.append(" ");
    append_integer(sink, stacks.nodes[i].*weight);
    sink.append("\n");
  }
}

// No weight: CPU time if there are samples, else host time.
template <int64_t StackNode::*kWeight>
Result<Counts> write(store::Reader& reader, const std::string& path, const Options& options) {
  return write_profile(
      reader, path, options, Sink::Encoding::kPlain, [](const Events&, Stacks& stacks, Sink& sink) {
        const auto usual = has_samples(stacks) ? &StackNode::cpu_ns : &StackNode::host_ns;
        write_lines(stacks, kWeight != nullptr ? kWeight : usual, sink);
      });
}

}  // namespace

Exporter folded_exporter() {
  return {"folded",
          "collapsed stacks, for flame graphs: sampled CPU time, else host time of calls",
          {".folded"},
          write<nullptr>};
}

Exporter folded_blocked_exporter() {
  return {"folded-blocked",
          "collapsed stacks of the time in which threads were blocked",
          {".blocked.folded"},
          write<&StackNode::blocked_ns>};
}

Exporter folded_calls_exporter() {
  return {"folded-calls",
          "collapsed stacks of the host time of calls",
          {".calls.folded"},
          write<&StackNode::host_ns>};
}

Exporter folded_gpu_exporter() {
  return {"folded-gpu",
          "collapsed stacks of device time by launching call",
          {".gpu.folded"},
          write<&StackNode::device_ns>};
}

}  // namespace sonde::exporting
