// speedscope JSON (docs/exports.md): host time, device time and, where it was sampled, CPU time by
// call path, as profiles over one table of frames.
#include <algorithm>
#include <string>

#include "export/exporter.h"
#include "export/output/json_text.h"
#include "export/output/sink.h"
#include "export/stacks/stacks.h"

namespace sonde::exporting {

namespace {

class SpeedscopeWriter {
 public:
  SpeedscopeWriter(const Stacks& stacks, Sink& sink) : stacks_(stacks), sink_(sink) {}

  void write(const std::string& source_path) {
    sink_.append(R"({"$schema":"https://www.speedscope.app/file-format-schema.json",)");
    sink_.append(R"("exporter":"sonde","name":)");
    append_json_string(sink_, source_path, scratch_);
    sink_.append(R"(,"activeProfileIndex":0,"shared":{"frames":[)");
    for (size_t i = 0; i < stacks_.frames.size(); ++i) {
      sink_.append(i == 0 ? "\n{\"name\":" : ",\n{\"name\":");
      append_json_string(sink_, stacks_.frames[i], scratch_);
      sink_.append("}");
    }
    sink_.append("]},\"profiles\":[\n");
    profile("Host time", &StackNode::host_ns);
    sink_.append(",\n");
    profile("Device time by launching call", &StackNode::device_ns);
    const auto is_sampled = [](const StackNode& node) { return node.cpu_ns > 0; };
    if (std::any_of(stacks_.nodes.begin(), stacks_.nodes.end(), is_sampled)) {
      sink_.append(",\n");
      profile("CPU time, sampled", &StackNode::cpu_ns);
    }
    const auto was_blocked = [](const StackNode& node) { return node.blocked_ns > 0; };
    if (std::any_of(stacks_.nodes.begin(), stacks_.nodes.end(), was_blocked)) {
      sink_.append(",\n");
      profile("Blocked time, sampled", &StackNode::blocked_ns);
    }
    sink_.append("]}\n");
  }

 private:
  void profile(std::string_view name, int64_t StackNode::*weight) {
    int64_t total = 0;
    for (const StackNode& node : stacks_.nodes) total += std::max<int64_t>(node.*weight, 0);
    sink_.append(R"({"type":"sampled","unit":"nanoseconds","name":)");
    append_json_string(sink_, name, scratch_);
    sink_.append(",\"startValue\":0,\"endValue\":");
    append_integer(sink_, total);
    sink_.append(",\"samples\":[");
    each(weight, [&](uint32_t node) {
      sink_.append("[");
      bool first = true;
      for (const uint32_t frame : stacks_.path(node)) {
        if (!first) sink_.append(",");
        first = false;
        append_integer(sink_, frame);
      }
      sink_.append("]");
    });
    sink_.append("],\"weights\":[");
    each(weight, [&](uint32_t node) { append_integer(sink_, stacks_.nodes[node].*weight); });
    sink_.append("]}");
  }

  // Calls write(node) for each node with time, with commas between.
  template <typename Write>
  void each(int64_t StackNode::*weight, Write&& write) {
    bool first = true;
    for (uint32_t i = 0; i < stacks_.nodes.size(); ++i) {
      if (stacks_.nodes[i].*weight <= 0) continue;
      if (!first) sink_.append(",\n");
      first = false;
      write(i);
    }
  }

  const Stacks& stacks_;
  Sink& sink_;
  std::string scratch_;
};

Result<Counts> write_speedscope(store::Reader& reader, const std::string& path,
                                const Options& options) {
  return write_profile(reader, path, options, Sink::Encoding::kPlain,
                       [&](const Events&, const Stacks& stacks, Sink& sink) {
                         SpeedscopeWriter(stacks, sink).write(reader.path());
                       });
}

}  // namespace

Exporter speedscope_exporter() {
  return {"speedscope",
          "JSON for speedscope: host and device time by call path",
          {".speedscope.json"},
          write_speedscope};
}

}  // namespace sonde::exporting
