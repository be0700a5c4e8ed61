// Warm-up: the first steps of a program that take longer than the others, because something is
// compiled, loaded or tried out.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "analysis/quantile.h"
#include "analysis/step_pace.h"
#include "analysis/time/gpu_time.h"
#include "trace/keep_ops.h"
#include "trace/steps.h"

namespace sonde::analysis {
namespace {

using trace::kNone;
using trace::Row;
using trace::Step;

constexpr size_t kFewSteps = 5;  // too few to tell which are slower than the others
constexpr double kWarmUp = 1.5;  // of the median
constexpr size_t kMostWarmUp = 10;
constexpr size_t kComesAgain = 2;  // so many later steps that take as long are no accident
constexpr double kTakesAsLong = 0.75;
constexpr double kMostly = 0.5;
constexpr double kAsMany = 1.1;  // as many steps

int64_t length_ns(const Step& step) { return step.time.end_ns - step.time.start_ns; }

std::vector<int64_t> lengths_of(std::span<const Step> steps) {
  std::vector<int64_t> lengths;
  for (const Step& step : steps) lengths.push_back(length_ns(step));
  return lengths;
}

int64_t median_length(std::span<const Step> steps) {
  std::vector<int64_t> lengths = lengths_of(steps);
  return median(lengths);
}

// "execute_context_" of "execute_context_7".
std::string without_digits(const std::string& name) {
  std::string stem;
  std::copy_if(name.begin(), name.end(), std::back_inserter(stem),
               [](char c) { return c < '0' || c > '9'; });
  return stem;
}

// The steps of one process in a trace.
struct OfProcess {
  size_t first = 0, count = 0;
  size_t warm_up = 0;
  int64_t usual_ns = 0;  // the median of the steps
  bool communicates = false;
};

// The steps of one trace and what they launched.
class Launched {
 public:
  explicit Launched(const trace::Trace& trace) : trace_(trace) {
    auto found = trace::find_steps(trace, "");
    if (!found.ok() || found->steps.empty()) return;
    if (trace.window) {
      std::erase_if(found->steps, [&](const Step& step) {
        return step.time.start_ns < trace.window->start_ns ||
               step.time.end_ns > trace.window->end_ns;
      });
    }
    // Operations that no step launched belong to the steps that they run in.
    step_of_ = trace::step_of_ops(trace, *found);
    steps_ = std::move(*found);
  }
  const std::vector<Step>& steps() const { return steps_.steps; }
  const std::vector<Row>& step_of() const { return step_of_; }
  bool of_device() const { return steps_.of_device; }

  // How many of a process's first steps are its warm-up.
  size_t warm_up_of(size_t first, size_t count) {
    while (count >= kFewSteps) {
      const auto part = std::span(steps_.steps).subspan(first, count);
      const double most_ns = kWarmUp * static_cast<double>(median_length(part));
      size_t slow = 0;
      while (static_cast<double>(length_ns(part[slow])) > most_ns) ++slow;
      if (slow <= kMostWarmUp) return without_work(first, count, slow);
      count = slow;  // a part of its own, such as the training before an evaluation
    }
    return 0;
  }

 private:
  // Leaves out of so many slow first steps what is no warm-up but what the program has to do: all
  // if they have another name than those behind them, or if the GPU takes longer for the same calls
  // of kernels; the last ones if such steps come again.
  size_t without_work(size_t first, size_t count, size_t slow) {
    const auto part = std::span(steps_.steps).subspan(first, count);
    if (slow == 0 || without_digits(part[slow - 1].name) != without_digits(part[slow].name))
      return 0;
    const auto later = part.subspan(slow);
    const auto comes_again = [&](const Step& step) {
      const double least_ns = kTakesAsLong * static_cast<double>(length_ns(step));
      const auto again = std::count_if(later.begin(), later.end(), [&](const Step& one) {
        return static_cast<double>(length_ns(one)) >= least_ns;
      });
      return static_cast<size_t>(again) >= kComesAgain;
    };
    while (slow != 0 && comes_again(part[slow - 1])) --slow;
    if (slow == 0) return 0;
    const int64_t usual_ns = median_length(part);
    double more_ns = 0;
    for (const Step& step : part.first(slow)) {
      more_ns += static_cast<double>(length_ns(step) - usual_ns);
    }
    return more_time_of_kernels(first, count, slow) >= kMostly * more_ns ? 0 : slow;
  }

  // How much longer the GPUs, on average, took for the calls of kernels that later steps make, too;
  // further calls are what tries them out.
  double more_time_of_kernels(size_t first, size_t count, size_t slow) {
    struct Calls {
      double ns = 0, count = 0;
    };
    std::map<trace::NameId, Calls> early, late;
    std::set<int64_t> gpus;
    sort_ops();
    for (size_t i = begin_[first]; i < begin_[first + count]; ++i) {
      const auto op = static_cast<size_t>(ops_[i]);
      if (trace_.ops.category[op] != trace::Category::kCompute) continue;
      const bool is_early = static_cast<size_t>(step_of_[op]) < first + slow;
      Calls& calls = (is_early ? early : late)[trace_.ops.name[op]];
      calls.ns += static_cast<double>(trace_.op_ns(op));
      ++calls.count;
      gpus.insert(trace_.ops.gpu[op]);
    }
    const double share = static_cast<double>(slow) / static_cast<double>(count - slow);
    double more_ns = 0;
    for (const auto& [name, calls] : early) {
      const auto later = late.find(name);
      if (later == late.end()) continue;
      const double longer_ns = calls.ns / calls.count - later->second.ns / later->second.count;
      more_ns += std::min(calls.count, share * later->second.count) * std::max(0.0, longer_ns);
    }
    return gpus.empty() ? 0 : more_ns / static_cast<double>(gpus.size());
  }

  // Fills ops_ and begin_.
  void sort_ops() {
    if (!begin_.empty()) return;
    begin_.resize(steps_.steps.size() + 1, 0);
    for (const Row step : step_of_) {
      if (step != kNone) ++begin_[static_cast<size_t>(step) + 1];
    }
    for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
    ops_.resize(begin_.back());
    std::vector<size_t> next = begin_;
    for (size_t op = 0; op < step_of_.size(); ++op) {
      if (step_of_[op] != kNone)
        ops_[next[static_cast<size_t>(step_of_[op])]++] = static_cast<Row>(op);
    }
  }

  const trace::Trace& trace_;
  trace::Steps steps_;
  std::vector<Row> step_of_;
  std::vector<Row> ops_;       // by step
  std::vector<size_t> begin_;  // of each step in ops_
};

std::vector<OfProcess> processes_of(const trace::Trace& trace, Launched& launched) {
  const std::vector<Step>& steps = launched.steps();
  std::vector<bool> communicates(steps.size(), false);
  for (size_t op = 0; op < launched.step_of().size(); ++op) {
    const Row step = launched.step_of()[op];
    if (step != kNone && trace.ops.category[op] == trace::Category::kCommunication) {
      communicates[static_cast<size_t>(step)] = true;
    }
  }
  std::vector<OfProcess> found;
  for (size_t first = 0, end = 0; first < steps.size(); first = end) {
    while (end < steps.size() && steps[end].process == steps[first].process) ++end;
    const auto from = communicates.begin() + static_cast<std::ptrdiff_t>(first);
    found.push_back({first, end - first, launched.warm_up_of(first, end - first),
                     median_length(std::span(steps).subspan(first, end - first)),
                     std::count(from, from + static_cast<std::ptrdiff_t>(end - first), true) != 0});
  }
  return found;
}

Pace pace_of(const trace::Trace& trace, const Launched& launched,
             std::span<const OfProcess> processes) {
  Pace pace;
  pace.of_device = launched.of_device();
  const std::vector<int64_t> gpu_ns =
      gpu_time_of_steps(trace, launched.step_of(), launched.steps().size());
  for (const OfProcess& process : processes) {
    const auto gpu = std::span(gpu_ns).subspan(process.first, process.count);
    const StepPace of_steps =
        step_pace(lengths_of(std::span(launched.steps()).subspan(process.first, process.count)),
                  {gpu.begin(), gpu.end()});
    pace.join({.processes = 1,
               .steps = static_cast<int64_t>(process.count),
               .warm_up = static_cast<int64_t>(process.warm_up),
               .step_ns = of_steps.ns,
               .host_runs_ahead = of_steps.host_runs_ahead,
               .whole = {}});
  }
  // Only operations are left out, so a program without a GPU is analysed as a whole.
  if (trace.window || trace.ops.size() == 0) pace.warm_up = 0;
  return pace;
}

void take_out(trace::Trace& trace, const Launched& launched, std::span<const OfProcess> processes) {
  std::vector<bool> is_steady(launched.steps().size(), true);
  for (const OfProcess& process : processes) {
    std::fill_n(is_steady.begin() + static_cast<std::ptrdiff_t>(process.first), process.warm_up,
                false);
  }
  const std::vector<Row>& step_of = launched.step_of();
  std::vector<bool> kept(trace.ops.size(), false);
  int64_t from_ns = std::numeric_limits<int64_t>::max();
  for (size_t op = 0; op < kept.size(); ++op) {
    if (step_of[op] == kNone || !is_steady[static_cast<size_t>(step_of[op])]) continue;
    kept[op] = true;
    from_ns = std::min(from_ns, trace.ops.start_ns[op]);
  }
  for (size_t op = 0; op < kept.size(); ++op) {
    if (step_of[op] == kNone) kept[op] = trace.ops.start_ns[op] >= from_ns;
  }
  trace::keep_ops(trace, kept);
}

// Processes that do the same: as many steps, about as long.
bool are_alike(const OfProcess& a, const OfProcess& b) {
  const auto near = [](double one, double other, double most) {
    return std::max(one, other) <= most * std::min(one, other);
  };
  return near(static_cast<double>(a.count), static_cast<double>(b.count), kAsMany) &&
         near(static_cast<double>(a.usual_ns), static_cast<double>(b.usual_ns), kWarmUp);
}

// A rank that waits in its first step for another's compiler has the same warm-up.
void make_common(std::vector<std::vector<OfProcess>>& processes) {
  std::vector<OfProcess> warm;
  for (const auto& of_trace : processes) {
    std::copy_if(of_trace.begin(), of_trace.end(), std::back_inserter(warm),
                 [](const OfProcess& one) { return one.communicates && one.warm_up != 0; });
  }
  for (auto& of_trace : processes) {
    for (OfProcess& one : of_trace) {
      if (!one.communicates) continue;
      for (const OfProcess& other : warm) {
        if (!are_alike(one, other)) continue;
        one.warm_up = std::max(one.warm_up, std::min(other.warm_up, one.count / 2));
      }
    }
  }
}

}  // namespace

void Pace::join(const Pace& other) {
  as_many &= other.as_many && (processes == 0 || other.processes == 0 || steps == other.steps);
  processes += other.processes;
  steps = std::max(steps, other.steps);
  warm_up = std::max(warm_up, other.warm_up);
  step_ns = std::max(step_ns, other.step_ns);
  host_runs_ahead |= other.host_runs_ahead;
}

Pace::Whole whole_of(const trace::Trace& trace) {
  Pace::Whole whole;
  whole.extent = *trace.program;
  whole.first_op_ns = trace.ops.start_ns.front();
  for (const auto& [id, gpu] : gpu_times(trace)) {
    whole.busy_ns += busy_ns(gpu);
    ++whole.gpus;
  }
  return whole;
}

std::vector<Pace> leave_out_warm_up(std::span<trace::Trace> traces) {
  std::vector<Launched> launched;
  std::vector<std::vector<OfProcess>> processes;
  for (size_t i = 0; i < traces.size(); ++i) {
    launched.emplace_back(traces[i]);
    processes.push_back(processes_of(traces[i], launched.back()));
  }
  make_common(processes);
  std::vector<Pace> paces;
  for (size_t i = 0; i < traces.size(); ++i) {
    Pace& pace = paces.emplace_back(pace_of(traces[i], launched[i], processes[i]));
    if (pace.warm_up == 0) continue;
    pace.whole = whole_of(traces[i]);
    take_out(traces[i], launched[i], processes[i]);
  }
  return paces;
}

Pace leave_out_warm_up(trace::Trace& trace) { return leave_out_warm_up({&trace, 1}).front(); }

}  // namespace sonde::analysis
