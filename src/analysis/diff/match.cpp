#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analysis/diff/diff.h"
#include "analysis/step_pace.h"
#include "trace/steps.h"

namespace sonde::analysis {
namespace {

using trace::NameId;

constexpr int64_t kWarmUp = 3;    // medians that a step of a warm-up takes at least
constexpr int64_t kFewLong = 20;  // one in so many of the other steps may take as long

// A kernel by the company it keeps: who runs before it and after it on its queue, most often. Names
// that only one side has are all the same here.
struct Company {
  std::string before, after;
  int64_t calls = 0, total_ns = 0;
};

std::set<std::string> names_of(const trace::Trace& trace) {
  std::set<std::string> names;
  std::vector<bool> seen(trace.names.size(), false);
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    if (seen[trace.label(op)]) continue;
    seen[trace.label(op)] = true;
    names.insert(trace.names[trace.label(op)]);
  }
  return names;
}

std::string most_often(const std::map<NameId, int64_t>& counts, const trace::Trace& trace,
                       const std::set<std::string>& other) {
  std::map<std::string, int64_t> by_name;
  for (const auto& [name, count] : counts) {
    const std::string& text = trace.names[name];
    by_name[other.count(text) != 0 ? text : "?"] += count;
  }
  const auto most =
      std::max_element(by_name.begin(), by_name.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == by_name.end() ? "" : most->first;
}

// The company of the kernels that the other side does not have.
std::map<std::string, Company> companies(const trace::Trace& trace,
                                         const std::set<std::string>& other) {
  struct Seen {
    std::map<NameId, int64_t> before, after;
    int64_t calls = 0, total_ns = 0;
  };
  std::map<NameId, Seen> seen;
  std::vector<bool> is_own(trace.names.size(), false);
  for (size_t i = 0; i < trace.names.size(); ++i) is_own[i] = other.count(trace.names[i]) == 0;
  constexpr size_t kNobody = ~size_t{0};
  std::vector<size_t> last(trace.queues.size(), kNobody);  // operation of each queue
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const NameId name = trace.label(op);
    size_t& before = last[trace.ops.queue[op]];
    if (is_own[name]) {
      Seen& one = seen[name];
      ++one.calls;
      one.total_ns += trace.op_ns(op);
      if (before != kNobody) ++one.before[trace.label(before)];
    }
    if (before != kNobody && is_own[trace.label(before)]) ++seen[trace.label(before)].after[name];
    before = op;
  }
  std::map<std::string, Company> found;
  for (const auto& [name, one] : seen) {
    found[trace.names[name]] = {most_often(one.before, trace, other),
                                most_often(one.after, trace, other), one.calls, one.total_ns};
  }
  return found;
}

}  // namespace

std::optional<StepTimes> step_times(const trace::Trace& trace) {
  const auto found = trace::find_steps(trace, "");
  if (!found.ok()) return std::nullopt;
  // A choice of GPUs leaves operations of their processes only.
  const std::set<int32_t> with_ops(trace.ops.process.begin(), trace.ops.process.end());
  const std::vector<int64_t> gpu_ns =
      gpu_time_of_steps(trace, trace::step_of_ops(trace, *found), found->steps.size());
  struct Times {
    std::vector<int64_t> host, gpu;
  };
  std::map<int32_t, Times> by_process;
  for (size_t i = 0; i < found->steps.size(); ++i) {
    const trace::Step& step = found->steps[i];
    const bool is_chosen =
        step.process == trace::kNone || with_ops.empty() || with_ops.count(step.process) != 0;
    if (!is_chosen) continue;
    by_process[step.process].host.push_back(step.time.end_ns - step.time.start_ns);
    by_process[step.process].gpu.push_back(gpu_ns[i]);
  }
  StepTimes times;
  for (const auto& [process, of_process] : by_process) {
    const std::vector<int64_t>& durations = of_process.host;
    if (durations.size() < kFewestSteps || static_cast<int64_t>(durations.size()) <= times.count) {
      continue;
    }
    times.count = static_cast<int64_t>(durations.size());
    times.first_ns = durations.front();
    const StepPace pace = step_pace(durations, of_process.gpu);
    times.step_ns = pace.ns;
    times.host_runs_ahead = pace.host_runs_ahead;
    const auto is_long = [&](int64_t ns) { return ns > kWarmUp * pace.ns; };
    const auto first = std::find_if_not(durations.begin(), durations.end(), is_long);
    const auto others = std::count_if(first, durations.end(), is_long);
    times.has_warm_up = is_long(times.first_ns) && others * kFewLong <= times.count;
    const auto from = times.has_warm_up ? first : durations.begin();
    times.mean_ns = static_cast<double>(std::accumulate(from, durations.end(), int64_t{0})) /
                    static_cast<double>(durations.end() - from);
  }
  times.of_device = found->of_device;
  return times.count == 0 || times.step_ns <= 0 ? std::nullopt : std::optional(times);
}

std::vector<Renamed> renamed_kernels(const trace::Trace& a, const trace::Trace& b, int64_t steps_a,
                                     int64_t steps_b) {
  const std::set<std::string> names_a = names_of(a), names_b = names_of(b);
  const auto only_a = companies(a, names_b), only_b = companies(b, names_a);
  const auto fits = [&](const Company& in_a, const Company& in_b) {
    return in_a.before == in_b.before && in_a.after == in_b.after &&
           in_a.calls * steps_b == in_b.calls * steps_a;
  };
  std::vector<Renamed> renamed;
  for (const auto& [name_a, in_a] : only_a) {
    const std::string* match = nullptr;
    size_t matches = 0;
    for (const auto& [name_b, in_b] : only_b) {
      if (!fits(in_a, in_b)) continue;
      match = &name_b;
      ++matches;
    }
    if (matches != 1) continue;  // several would be a guess
    const Company& in_b = only_b.at(*match);
    const auto rivals = std::count_if(only_a.begin(), only_a.end(),
                                      [&](const auto& rival) { return fits(rival.second, in_b); });
    if (rivals != 1) continue;
    renamed.push_back({name_a, *match, in_a.calls, in_b.calls, in_a.total_ns, in_b.total_ns});
  }
  std::stable_sort(renamed.begin(), renamed.end(), [](const Renamed& x, const Renamed& y) {
    return std::max(x.a_ns, x.b_ns) > std::max(y.a_ns, y.b_ns);
  });
  return renamed;
}

}  // namespace sonde::analysis
