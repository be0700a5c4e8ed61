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

// No weight: CPU time if there are samples, else host time.
Result<Counts> write_folded(store::Reader& reader, const std::string& path, const Options& options,
                            int64_t StackNode::*weight) {
  SONDE_ASSIGN(const Events events, load_events(reader, options));
  SONDE_ASSIGN(Stacks stacks, stacks_of(reader, events, options));
  if (weight == nullptr) weight = has_samples(stacks) ? &StackNode::cpu_ns : &StackNode::host_ns;
  for (std::string& frame : stacks.frames) frame = frame_text(std::move(frame));
  SONDE_ASSIGN(Sink sink, Sink::create(path, Sink::Encoding::kPlain));
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
  SONDE_TRY(sink.finish());
  return profile_counts(events, stacks);
}

Result<Counts> write_best(store::Reader& reader, const std::string& path, const Options& options) {
  return write_folded(reader, path, options, nullptr);
}

Result<Counts> write_host(store::Reader& reader, const std::string& path, const Options& options) {
  return write_folded(reader, path, options, &StackNode::host_ns);
}

Result<Counts> write_device(store::Reader& reader, const std::string& path,
                            const Options& options) {
  return write_folded(reader, path, options, &StackNode::device_ns);
}

Result<Counts> write_blocked(store::Reader& reader, const std::string& path,
                             const Options& options) {
  return write_folded(reader, path, options, &StackNode::blocked_ns);
}

}  // namespace

const Exporter& folded_exporter() {
  static const Exporter kExporter{
      "folded",
      "collapsed stacks, for flame graphs: sampled CPU time, else host time of calls",
      {".folded"},
      write_best};
  return kExporter;
}

const Exporter& folded_blocked_exporter() {
  static const Exporter kExporter{"folded-blocked",
                                  "collapsed stacks of the time in which threads were blocked",
                                  {".blocked.folded"},
                                  write_blocked};
  return kExporter;
}

const Exporter& folded_calls_exporter() {
  static const Exporter kExporter{
      "folded-calls", "collapsed stacks of the host time of calls", {".calls.folded"}, write_host};
  return kExporter;
}

const Exporter& folded_gpu_exporter() {
  static const Exporter kExporter{"folded-gpu",
                                  "collapsed stacks of device time by launching call",
                                  {".gpu.folded"},
                                  write_device};
  return kExporter;
}

}  // namespace sonde::exporting
