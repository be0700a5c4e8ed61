#include "serve/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "trace/other_tools.h"
#include "trace/steps.h"

namespace sonde::serve {
namespace {

constexpr size_t kMostSteps = 20'000;

struct Found {
  trace::Trace trace;
  trace::Steps steps;  // by start

  int64_t from_origin_ns(int64_t time_ns) const { return time_ns - trace.origin_ns; }
};

Result<Found> find(const Source& source) {
  const trace::Request needs = {.ops = true, .links = true};
  SONDE_ASSIGN(trace::Trace trace, trace::load_file(source.path, source.as, needs, {}));
  SONDE_ASSIGN(trace::Steps steps, trace::find_steps(trace, ""));
  std::stable_sort(steps.steps.begin(), steps.steps.end(),
                   [](const auto& a, const auto& b) { return a.time.start_ns < b.time.start_ns; });
  return Found{std::move(trace), std::move(steps)};
}

// The steps of the process with most steps, so that each moment is in one step.
std::vector<trace::Step> main_steps(const Found& found) {
  std::map<int32_t, std::vector<trace::Step>> by_process;
  for (const trace::Step& step : found.steps.steps) by_process[step.process].push_back(step);
  std::vector<trace::Step> most;
  for (auto& [process, steps] : by_process) {
    if (steps.size() > most.size()) most = std::move(steps);
  }
  return most;
}

using Pair = std::pair<const trace::Step*, const trace::Step*>;

std::vector<Pair> pairs_of(const std::vector<trace::Step>& base,
                           const std::vector<trace::Step>& other) {
  std::map<std::string, const trace::Step*> by_name;
  for (const trace::Step& step : base) by_name.emplace(step.name, &step);
  std::vector<Pair> pairs;
  const bool names_differ = by_name.size() == base.size();  // else they number nothing
  for (const trace::Step& step : other) {
    const auto found = by_name.find(step.name);
    if (names_differ && found != by_name.end()) pairs.emplace_back(found->second, &step);
  }
  if (!pairs.empty()) return pairs;
  for (size_t i = 0; i < std::min(base.size(), other.size()); ++i) {
    pairs.emplace_back(&base[i], &other[i]);
  }
  return pairs;
}

}  // namespace

Result<std::string> steps_json(const Source& source) {
  SONDE_ASSIGN(const Found found, find(source));
  const auto& steps = found.steps.steps;
  std::string list;
  for (size_t i = 0; i < std::min(steps.size(), kMostSteps); ++i) {
    const trace::Step& step = steps[i];
    const std::string pid =
        step.process == trace::kNone
            ? "null"
            : std::to_string(found.trace.processes[static_cast<size_t>(step.process)].pid);
    list += fmt::format("{}{{\"name\": {}, \"pid\": {}, \"start_ns\": {}, \"end_ns\": {}}}",
                        list.empty() ? "" : ",\n", json_quote(step.name), pid,
                        found.from_origin_ns(step.time.start_ns),
                        found.from_origin_ns(step.time.end_ns));
  }
  return fmt::format("{{\"source\": {}, \"cut\": {}, \"steps\": [{}]}}\n",
                     json_quote(found.steps.source), steps.size() > kMostSteps, list);
}

Result<std::string> aligned_json(const Source& base, const Source& other) {
  SONDE_ASSIGN(const Found a, find(base));
  SONDE_ASSIGN(const Found b, find(other));
  const std::vector<trace::Step> a_steps = main_steps(a), b_steps = main_steps(b);
  std::string list;
  size_t listed = 0;
  for (const auto& [first, second] : pairs_of(a_steps, b_steps)) {
    if (listed++ == kMostSteps) break;
    list += fmt::format(
        "{}{{\"name\": {}, \"base_start_ns\": {}, \"base_end_ns\": {}, \"start_ns\": {}, "
        "\"end_ns\": {}}}",
        list.empty() ? "" : ",\n", json_quote(second->name), a.from_origin_ns(first->time.start_ns),
        a.from_origin_ns(first->time.end_ns), b.from_origin_ns(second->time.start_ns),
        b.from_origin_ns(second->time.end_ns));
  }
  return fmt::format("{{\"by\": \"{}\", \"pairs\": [{}]}}\n", list.empty() ? "start" : "steps",
                     list);
}

}  // namespace sonde::serve
