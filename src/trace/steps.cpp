#include "trace/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/letters.h"

namespace sonde::trace {
namespace {

// The ranges whose label `wants` accepts; `source` is what `how` says.
template <typename Wants>
Steps steps_of_ranges(const Trace& trace, std::string_view how, Wants wants) {
  std::vector<int8_t> wanted(trace.names.size(), -1);
  std::map<int32_t, Step> last;  // of each process
  size_t left_out = 0;           // of other threads
  Steps found;
  const Apis& apis = trace.apis;
  for (size_t i = 0; i < apis.size(); ++i) {
    if (apis.kind[i] != ApiKind::kMarker || apis.end_ns[i] <= apis.start_ns[i]) continue;
    int8_t& match = wanted[apis.label[i]];
    if (match < 0) match = wants(trace.names[apis.label[i]]) ? 1 : 0;
    if (match == 0) continue;
    const uint32_t thread = apis.thread[i];
    Step step = {trace.names[apis.label[i]],
                 {apis.start_ns[i], apis.end_ns[i]},
                 trace.threads[thread].process,
                 static_cast<int32_t>(thread)};
    found.threads.insert(thread);
    const auto [before, is_first] = last.try_emplace(step.process, step);
    if (!is_first && step.time.start_ns < before->second.time.end_ns) {
      left_out += step.thread != before->second.thread ? 1 : 0;
      continue;
    }
    before->second = step;
    found.steps.push_back(std::move(step));
  }
  std::stable_sort(found.steps.begin(), found.steps.end(),
                   [](const Step& a, const Step& b) { return a.process < b.process; });
  if (found.steps.empty()) return found;
  found.source = how;
  if (left_out != 0) {
    found.source += fmt::format("; {} that overlap{} those of another thread {} left out", left_out,
                                left_out == 1 ? "s" : "", left_out == 1 ? "is" : "are");
  }
  return found;
}

Result<Steps> steps_of_markers(const Trace& trace, const std::string& pattern) {
  SONDE_ASSIGN(const NameFilter filter, NameFilter::compile(pattern, "--step"));
  return steps_of_ranges(trace, "markers that match '" + pattern + "'",
                         [&](const std::string& name) { return filter.wants(name); });
}

// Whether ranges that users number are steps: one series that the main thread of each process goes
// through, with little between them. Others number parts of a step, phases, or what another thread
// prepares.
bool are_iterations(const Trace& trace, std::span<const Step> steps) {
  if (steps.size() < 2) return false;
  for (size_t first = 0, end = 0; first < steps.size(); first = end) {
    int64_t inside_ns = 0;
    for (; end < steps.size() && steps[end].process == steps[first].process; ++end) {
      const Thread& thread = trace.threads[static_cast<size_t>(steps[end].thread)];
      const bool is_main = thread.tid == trace.processes[static_cast<size_t>(thread.process)].pid;
      if (!is_main || iteration_stem(steps[end].name) != iteration_stem(steps[first].name)) {
        return false;
      }
      inside_ns += steps[end].time.end_ns - steps[end].time.start_ns;
    }
    const int64_t all_ns = steps[end - 1].time.end_ns - steps[first].time.start_ns;
    if (inside_ns < all_ns - all_ns / 5) return false;
  }
  return true;
}

// Whether of the processes that have such steps most operations, by their time, were launched in
// them: what a server marks may be its set-up alone. True if no launch is known.
bool launch_most(const Trace& trace, const Steps& steps) {
  if (trace.ops.api.empty()) return true;
  std::set<int32_t> processes;
  for (const Step& step : steps.steps) processes.insert(step.process);
  const std::vector<Row> step = step_of_ops(trace, steps);
  int64_t known_ns = 0, inside_ns = 0;
  for (size_t i = 0; i < step.size(); ++i) {
    const Row api = trace.ops.api[i];
    if (api == kNone) continue;
    const uint32_t thread = trace.apis.thread[static_cast<size_t>(api)];
    if (!processes.contains(trace.threads[thread].process)) continue;
    known_ns += trace.op_ns(i);
    if (step[i] != kNone) inside_ns += trace.op_ns(i);
  }
  return 2 * inside_ns >= known_ns;
}

// The names of the kernels of a process on one GPU, in the order in which they started.
struct Sequence {
  std::vector<NameId> names;
  std::vector<size_t> ops;
};

// What repeats, as places in a sequence.
struct Loop {
  size_t period = 0;
  struct Turn {
    size_t begin = 0, end = 0;
  };
  std::vector<Turn> turns;
};

// Where the turn begins that ends with `before`, if it does: most of its kernels are those of the
// loop, or all of them are, with others in between, as in a first turn.
std::optional<size_t> begin_of_turn(std::span<const NameId> before, std::span<const NameId> loop) {
  constexpr size_t kLongest = 8;  // as many turns
  const size_t period = loop.size();
  if (before.size() < period) return std::nullopt;
  const auto window = before.last(period);
  size_t same = 0;
  for (size_t i = 0; i < period; ++i) same += window[i] == loop[i] ? 1 : 0;
  if (4 * same >= 3 * period) return before.size() - period;
  const size_t least = before.size() - std::min(before.size(), kLongest * period);
  size_t left = period;
  for (size_t at = before.size(); at > least; --at) {
    if (before[at - 1] == loop[left - 1] && --left == 0) return at - 1;
  }
  return std::nullopt;
}

// Where the last turn ends before a place behind which there are others: with evaluations between
// them, say, or with nothing but the set-up of a program.
std::optional<size_t> last_turn_end(std::span<const NameId> before, std::span<const NameId> loop) {
  size_t work = size_t{1} << 26;  // a bound on it
  const size_t period = loop.size();
  for (size_t end = before.size(); end >= period; --end) {
    const auto window = before.first(end).last(period);
    if (window.front() != loop.front() || window.back() != loop.back()) continue;
    size_t different = 0;
    for (size_t i = 0; i < period && 4 * different <= period; ++i) {
      different += window[i] != loop[i] ? 1 : 0;
    }
    if (4 * different <= period) return end;
    if (work < period) break;
    work -= period;
  }
  return std::nullopt;
}

// A few kernels may come after the last turn.
Loop loop_of(std::span<const NameId> sequence) {
  Loop loop;
  size_t end = sequence.size();
  loop.period = period_of(sequence);
  for (size_t tail = 1; loop.period == 0 && tail <= sequence.size() / 4; tail *= 2) {
    end = sequence.size() - tail;
    loop.period = period_of(sequence.first(end));
  }
  if (loop.period == 0) return loop;
  while (end < sequence.size() && sequence[end] == sequence[end - loop.period]) ++end;
  const auto last = sequence.first(end).last(loop.period);
  while (end >= loop.period) {
    if (const auto begin = begin_of_turn(sequence.first(end), last)) {
      loop.turns.push_back({*begin, end});
      end = *begin;
    } else if (const auto other = last_turn_end(sequence.first(end), last)) {
      end = *other;
    } else {
      break;
    }
  }
  std::reverse(loop.turns.begin(), loop.turns.end());
  return loop;
}

// A step ends where the next one begins, or with its last kernel.
void add_steps(const Trace& trace, int32_t process, const Sequence& sequence, const Loop& loop,
               Steps& found) {
  for (size_t turn = 0; turn < loop.turns.size(); ++turn) {
    const auto [begin, end] = loop.turns[turn];
    const bool is_followed = turn + 1 < loop.turns.size() && loop.turns[turn + 1].begin == end;
    const int64_t end_ns = is_followed ? trace.ops.start_ns[sequence.ops[end]]
                                       : trace.ops.end_ns[sequence.ops[end - 1]];
    found.steps.push_back({fmt::format("period {}", turn + 1),
                           {trace.ops.start_ns[sequence.ops[begin]], end_ns},
                           process});
  }
}

Steps steps_of_period(const Trace& trace) {
  std::map<std::pair<int32_t, int64_t>, Sequence> by_gpu;  // of a process
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.class_of(i) != OpClass::kKernel) continue;
    const int32_t process = trace.ops.process.empty() ? kNone : trace.ops.process[i];
    Sequence& sequence = by_gpu[{process, trace.ops.gpu[i]}];
    sequence.names.push_back(trace.label(i));
    sequence.ops.push_back(i);
  }
  Steps found;
  // Every GPU of a process runs the same program: the first that has a period gives the steps.
  size_t others = 0;
  for (const auto& [key, sequence] : by_gpu) {
    const auto& [process, gpu] = key;
    if (!found.steps.empty() && found.steps.back().process == process) continue;
    const Loop loop = loop_of(sequence.names);
    if (loop.turns.empty()) continue;
    add_steps(trace, process, sequence, loop, found);
    if (found.of_device) {
      ++others;
      continue;
    }
    found.of_device = true;
    found.source = fmt::format("{} kernels that repeat {} times on GPU {}", loop.period,
                               loop.turns.size(), gpu);
  }
  if (others != 0) {
    found.source +=
        fmt::format(", and those of {} more process{}", others, others == 1 ? "" : "es");
  }
  return found;
}

}  // namespace

// The shortest, or one that is not a multiple of it and leaves a quarter of its differences or
// fewer: many equal layers are not the step, though most of it is they.
size_t period_of(std::span<const NameId> sequence) {
  constexpr size_t kLeast = 24;  // kernels
  constexpr size_t kTail = 8;    // the last few, which were there before at a period's distance
  constexpr size_t kLongest = 65536;  // a bound on the work: beyond it only the end is looked at
  if (sequence.size() < kLeast) return 0;
  const size_t size = std::min(sequence.size(), kLongest);
  const NameId* end = sequence.data() + sequence.size();
  size_t found = 0, differences = 0;
  for (size_t period = 2; period <= size / 3 && (found == 0 || differences != 0); ++period) {
    if (found != 0 && period % found == 0) continue;
    if (!std::equal(end - kTail, end, end - kTail - period)) continue;
    const size_t compared = std::min(size - period, std::max(2 * period, size / 2));
    const size_t allowed = found == 0 ? compared / 50 : differences / 4;
    size_t different = 0;
    for (size_t i = 1; i <= compared && different <= allowed; ++i) {
      const auto back = static_cast<std::ptrdiff_t>(i);
      different += end[-back] != end[-back - static_cast<std::ptrdiff_t>(period)] ? 1 : 0;
    }
    if (different > allowed) continue;
    found = period;
    differences = different;
  }
  const auto tail = static_cast<std::ptrdiff_t>(found);
  const bool is_one = std::all_of(end - tail, end, [&](NameId name) { return name == end[-1]; });
  return is_one ? 0 : found;  // one kernel that repeats is not a step
}

std::string_view iteration_stem(std::string_view name) {
  const std::string_view stem = name.substr(0, name.find_last_not_of("0123456789") + 1);
  if (stem.size() == name.size()) return "";
  std::string word = lower(stem.substr(0, stem.find_last_not_of(" _:=#-") + 1));
  for (const std::string_view before : {"train ", "train_", "training ", "training_"}) {
    if (word.starts_with(before)) {
      word.erase(0, before.size());
      break;
    }
  }
  return word == "step" || word == "iter" || word == "iteration" ? stem : "";
}

std::vector<Row> step_of_ops(const Trace& trace, const Steps& steps) {
  const auto step_at = [&](int32_t process, int64_t time_ns) -> Row {
    const auto after =
        std::partition_point(steps.steps.begin(), steps.steps.end(), [&](const Step& step) {
          return step.process != process ? step.process < process : step.time.start_ns <= time_ns;
        });
    if (after == steps.steps.begin()) return kNone;
    const Step& step = after[-1];
    if (step.process != process || time_ns >= step.time.end_ns) return kNone;
    return static_cast<Row>(after - steps.steps.begin() - 1);
  };
  std::vector<char> has_steps(trace.threads.size(), 0);
  for (const uint32_t thread : steps.threads) has_steps[thread] = 1;
  std::vector<Row> found(trace.ops.size(), kNone);
  for (size_t i = 0; i < found.size(); ++i) {
    if (steps.of_device) {
      found[i] = step_at(trace.ops.process[i], trace.ops.start_ns[i]);
    } else if (trace.ops.api[i] != kNone) {
      const auto api = static_cast<size_t>(trace.ops.api[i]);
      const uint32_t thread = trace.apis.thread[api];
      const Row step = step_at(trace.threads[thread].process, trace.apis.start_ns[api]);
      const bool is_others =
          step != kNone && has_steps[thread] != 0 &&
          steps.steps[static_cast<size_t>(step)].thread != static_cast<int32_t>(thread);
      found[i] = is_others ? kNone : step;
    }
  }
  return found;
}

Result<Steps> find_steps(const Trace& trace, const std::string& pattern) {
  if (!pattern.empty()) return steps_of_markers(trace, pattern);
  SONDE_ASSIGN(Steps of_torch, steps_of_markers(trace, "^ProfilerStep#[0-9]+$"));
  if (!of_torch.steps.empty()) return of_torch;
  SONDE_ASSIGN(Steps of_server, steps_of_markers(trace, "^(execute_|step\\[)"));
  if (!of_server.steps.empty() && launch_most(trace, of_server)) return of_server;
  if (trace.ops.size() != 0) return steps_of_period(trace);
  Steps numbered =
      steps_of_ranges(trace, "ranges that the program numbers",
                      [](const std::string& name) { return !iteration_stem(name).empty(); });
  return are_iterations(trace, numbered.steps) ? numbered : Steps();
}

}  // namespace sonde::trace
