#include "analysis/sample_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sonde::analysis {
namespace {

using trace::kNone;

class Places {
 public:
  explicit Places(const trace::Trace& trace) : trace_(trace), stacks_(trace.stacks) {}

  std::string function(int32_t node) const { return trace_.names[frame(node).function]; }
  // "" if no line of the user's own is in the stack.
  std::string line(int32_t node) const {
    for (; node != kNone; node = stacks_.parent[static_cast<size_t>(node)]) {
      const trace::CodeFrame& code = frame(node);
      if (code.kind != trace::FrameKind::kPython || code.is_library) continue;
      return fmt::format("{}({}): {}", trace_.names[code.file], code.line,
                         trace_.names[code.function]);
    }
    return "";
  }

 private:
  const trace::CodeFrame& frame(int32_t node) const {
    return stacks_.frames[stacks_.frame[static_cast<size_t>(node)]];
  }

  const trace::Trace& trace_;
  const trace::CallStacks& stacks_;
};

using ByName = std::map<std::string, SampleTotal>;

void add(ByName& totals, const std::string& name, const SampleTotal& of_stack) {
  if (name.empty()) return;
  SampleTotal& total = totals[name];
  total.name = name;
  total.samples += of_stack.samples;
  total.cpu_ns += of_stack.cpu_ns;
}

std::vector<SampleTotal> ordered(const ByName& by_name) {
  std::vector<SampleTotal> totals;
  for (const auto& [name, total] : by_name) totals.push_back(total);
  std::stable_sort(totals.begin(), totals.end(),
                   [](const SampleTotal& a, const SampleTotal& b) { return a.cpu_ns > b.cpu_ns; });
  return totals;
}

}  // namespace

SampleTotals sample_totals(const trace::Trace& trace) {
  const trace::Samples& samples = trace.samples;
  std::map<int32_t, SampleTotal> stacks;  // there are far fewer than samples
  SampleTotals all;
  for (size_t i = 0; i < samples.size(); ++i) {
    SampleTotal& stack = stacks[samples.stack[i]];
    ++stack.samples;
    stack.cpu_ns += samples.cpu_ns[i];
    ++all.samples;
    all.cpu_ns += samples.cpu_ns[i];
  }
  const Places places(trace);
  ByName functions, lines;
  for (const auto& [node, total] : stacks) {
    add(functions, places.function(node), total);
    add(lines, places.line(node), total);
  }
  all.functions = ordered(functions);
  all.lines = ordered(lines);
  return all;
}

}  // namespace sonde::analysis
