#include "analysis/stacks/sample_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace sonde::analysis {
namespace {

using trace::kNone;

using ByName = std::map<std::string, SampleTotal>;

// What calls main() or a thread's first function, and does no work of its own.
bool begins_thread(std::string_view function) {
  constexpr std::array kNames = {"_start",       "__libc_start_call_main", "__libc_start_main_impl",
                                 "start_thread", "__libc_start_main",      "clone3",
                                 "clone"};
  return std::find(kNames.begin(), kNames.end(), function) != kNames.end();
}

// "libcuda.so.1", but not "libcuda.so_shim.so".
bool is_driver_file(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  constexpr std::array<std::string_view, 3> kNames = {"libcuda.so", "libamdhip64.so",
                                                      "libhsa-runtime64.so"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return file.starts_with(name) && (file.size() == name.size() || file[name.size()] == '.');
  });
}

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

StackPlaces::StackPlaces(const trace::Trace& trace) : trace_(trace) {
  const trace::CallStacks& stacks = trace.stacks;
  std::vector<bool> by_frame, drivers;
  for (const trace::CodeFrame& code : stacks.frames) {
    drivers.push_back(is_driver_file(trace.names[code.module]));
    by_frame.push_back(code.kind == trace::FrameKind::kPython &&
                       trace.names[code.file].starts_with("<frozen importlib"));
  }
  for (size_t node = 0; node < stacks.size(); ++node) {  // callers stand before what they called
    const int32_t parent = stacks.parent[node];
    is_import_.push_back(by_frame[stacks.frame[node]] || is_import(parent));
    // A callback that the driver calls is the user's again.
    is_driver_.push_back(is_library(static_cast<int32_t>(node)) &&
                         (drivers[stacks.frame[node]] || is_driver(parent)));
  }
}

const trace::CodeFrame& StackPlaces::frame(int32_t node) const {
  return trace_.stacks.frames[trace_.stacks.frame[static_cast<size_t>(node)]];
}

const std::string& StackPlaces::function(int32_t node) const {
  for (int32_t at = node; at != kNone; at = trace_.stacks.parent[static_cast<size_t>(at)]) {
    const std::string& name = trace_.names[frame(at).function];
    // An interpreter that starts or ends has no caller to blame.
    if (!frame(at).is_interpreter && (at == node || !begins_thread(name))) return name;
  }
  return trace_.names[frame(node).function];
}

std::string StackPlaces::line(int32_t node) const {
  for (; node != kNone; node = trace_.stacks.parent[static_cast<size_t>(node)]) {
    const trace::CodeFrame& code = frame(node);
    if (code.kind != trace::FrameKind::kPython || code.is_library) continue;
    return fmt::format("{}({}): {}", trace_.names[code.file], code.line,
                       trace_.names[code.function]);
  }
  return "";
}

bool StackPlaces::is_library(int32_t node) const {
  return frame(node).kind == trace::FrameKind::kNative && frame(node).is_library;
}

std::string StackPlaces::driver(int32_t node) const {
  const trace::CallStacks& stacks = trace_.stacks;
  while (is_driver(stacks.parent[static_cast<size_t>(node)])) {
    node = stacks.parent[static_cast<size_t>(node)];
  }
  const std::string& function = trace_.names[frame(node).function];
  const std::string_view path = trace_.names[frame(node).module];
  return function.find("+0x") == function.npos ? function
                                               : std::string(path.substr(path.rfind('/') + 1));
}

std::string StackPlaces::own_place(int32_t node) const {
  if (std::string python = line(node); !python.empty()) return python;
  for (; node != kNone; node = trace_.stacks.parent[static_cast<size_t>(node)]) {
    if (!frame(node).is_library) return trace_.names[frame(node).function];
  }
  return "";
}

SampleTotals sample_totals(const trace::Trace& trace, Counted counted) {
  const trace::Samples& samples = trace.samples;
  std::map<int32_t, SampleTotal> stacks;  // there are far fewer than samples
  SampleTotals all;
  const StackPlaces places(trace);
  for (size_t i = 0; i < samples.size(); ++i) {
    if (places.is_import(samples.stack[i])) {
      all.import_ns += samples.cpu_ns[i];
      if (counted == Counted::kOwnWork) continue;
    }
    SampleTotal& stack = stacks[samples.stack[i]];
    ++stack.samples;
    stack.cpu_ns += samples.cpu_ns[i];
    ++all.samples;
    all.cpu_ns += samples.cpu_ns[i];
  }
  ByName functions, lines;
  for (const auto& [node, total] : stacks) {
    if (places.is_driver(node)) {
      all.driver.samples += total.samples;
      all.driver.cpu_ns += total.cpu_ns;
      if (counted == Counted::kOwnWork) continue;
    }
    add(functions, places.function(node), total);
    add(lines, places.line(node), total);
  }
  all.functions = ordered(functions);
  all.lines = ordered(lines);
  return all;
}

}  // namespace sonde::analysis
