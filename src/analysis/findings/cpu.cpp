#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "analysis/findings/rules.h"
#include "analysis/stacks/sample_totals.h"
#include "base/strings.h"
#include "trace/host_work.h"
#include "trace/op_tree.h"
#include "trace/steps.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::kNone;

constexpr Rule kFunctionRule = {
    "cpu-function", "One function takes most of the CPU time",
    "Start with this function: its algorithm, its library, its compiler flags. sonde stacks --by "
    "callers shows what calls it.",
    "without device operations: the CPU time of the samples whose innermost function it is, if "
    "that is a quarter of all samples' time",
    "half of it, as if it were twice as fast"};
constexpr Rule kLineRule = {
    "cpu-line", "One line of Python takes most of the CPU time",
    "Replace per-element work by one library call, or avoid it. sonde stacks --by callers shows "
    "what calls this line.",
    "without device operations: the CPU time of the samples whose innermost line of the user's "
    "own code it is, if that is a quarter of all samples' time",
    "half of it, as if it were twice as fast"};
constexpr Rule kDriverRule = {
    "gpu-driver",
    "CPU time goes to a GPU's driver",
    "There a program launches work, waits for its GPU or sets something up, and this file has no "
    "operations that tell: record these, too (of CUDA with torch.profiler or Nsight Systems), and "
    "give sonde check what they write. In PyTorch each .item(), .cpu() and print of a tensor "
    "waits. sonde stacks --by callers shows who calls the driver.",
    "without device operations: the CPU time of samples in a library of a GPU's driver or runtime "
    "(libcuda, libamdhip64, libhsa-runtime64), with what it calls in other libraries, if that is a "
    "quarter of all samples' time; no other finding is about that time",
    "half of it, as if the GPU were twice as fast",
    true};
constexpr Rule kOperatorRule = {
    "cpu-operator", "One operator takes most of the operators' time",
    "Check its shapes, its type and its number of threads (OMP_NUM_THREADS, "
    "torch.set_num_threads); try another memory format (channels_last), oneDNN, torch.compile. "
    "sonde operators shows the rest.",
    "without device operations: the self time of the operator that has the most, if that is a "
    "quarter of the time of all operators; as a share of the time between the first and the last "
    "call of the threads that call operators",
    "half of it, as if it were twice as fast"};
constexpr Rule kDataRule = {
    "cpu-data-loading",
    "The program waits for its data",
    "Use more workers, a larger prefetch_factor, persistent_workers=True; do less work per "
    "sample, or prepare the samples on disk.",
    "without device operations: time within data loader ranges (DataLoader) on the threads of "
    "steps, or on main threads if no steps are known, as a share of the time between the first "
    "and the last call of threads",
    "all of it",
    true};

constexpr Rule kLockRule = {
    "lock-waits", "Threads wait for each other's locks",
    "Hold the lock for less time, give each thread its own data and combine it at the end, or use "
    "atomics; Python threads that compute need processes, or code that releases the GIL. sonde "
    "stacks --by callers shows who waits.",
    "without device operations, if blocked threads were sampled (--sample-clock wall): the time "
    "that threads spent in a function that takes a pthread lock or Python's GIL",
    "half of it"};

constexpr double kMostPercentage = 25;
constexpr double kGain = 0.5;
constexpr int64_t kFewSamples = 20;  // a quarter of fewer may well be chance

double percentage_of(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// What of a time is in the window, if there is one: calls are in the trace with all of their time.
trace::Interval in_window(const trace::Trace& trace, trace::Interval time) {
  if (!trace.window) return time;
  const int64_t start_ns = std::max(time.start_ns, trace.window->start_ns);
  return {start_ns, std::max(start_ns, std::min(time.end_ns, trace.window->end_ns))};
}

trace::Interval time_of(const trace::Trace& trace, size_t api) {
  return in_window(trace, {trace.apis.start_ns[api], trace.apis.end_ns[api]});
}

// When the samples were taken that `wanted` takes, by thread: each is the CPU time before it.
template <typename Wanted>
Lanes sampled(const trace::Trace& trace, Wanted wanted) {
  const trace::Samples& samples = trace.samples;
  Lanes lanes;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!wanted(samples.stack[i])) continue;
    lanes[static_cast<int32_t>(samples.thread[i])].push_back(
        in_window(trace, {samples.time_ns[i] - samples.cpu_ns[i], samples.time_ns[i]}));
  }
  for (auto& [thread, set] : lanes) trace::normalise(set);
  return lanes;
}

// The name that has the most; "" if there is none.
std::string largest_of(const std::map<std::string, int64_t>& time_by_name) {
  const auto most =
      std::max_element(time_by_name.begin(), time_by_name.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == time_by_name.end() ? "" : most->first;
}

// Where most of the CPU time of the samples went that `wanted` takes; "" if that is nowhere.
template <typename Wanted, typename Place>
std::string largest_part(const trace::Trace& trace, Wanted wanted, Place place_of) {
  std::map<int32_t, int64_t> by_stack;
  for (size_t i = 0; i < trace.samples.size(); ++i) {
    if (wanted(trace.samples.stack[i])) by_stack[trace.samples.stack[i]] += trace.samples.cpu_ns[i];
  }
  std::map<std::string, int64_t> by_place;
  for (const auto& [stack, cpu_ns] : by_stack) by_place[place_of(stack)] += cpu_ns;
  by_place.erase("");
  return largest_of(by_place);
}

void add_driver(const trace::Trace& trace, const StackPlaces& places, const SampleTotals& totals,
                Claims& claims) {
  const double share = percentage_of(totals.driver.cpu_ns, totals.cpu_ns);
  if (share < kMostPercentage) return;
  const auto is_mine = [&](int32_t stack) {
    return !places.is_import(stack) && places.is_driver(stack);
  };
  std::string text = fmt::format(
      "{}, {:.1f} % of the CPU time of {} samples, most of it in {}",
      time_text(totals.driver.cpu_ns), share, format_count(static_cast<uint64_t>(totals.samples)),
      largest_part(trace, is_mine, [&](int32_t stack) { return places.driver(stack); }));
  const std::string caller =
      largest_part(trace, is_mine, [&](int32_t stack) { return places.own_place(stack); });
  if (!caller.empty()) text += ", and below " + caller;
  claims.push_back({&kDriverRule, sampled(trace, is_mine), kGain, std::move(text)});
}

// A function and a line are two views of the same samples, so each names the other.
void add_samples(const trace::Trace& trace, Claims& claims) {
  const StackPlaces places(trace);
  const SampleTotals totals = sample_totals(trace, Counted::kOwnWork);
  if (totals.samples < kFewSamples) return;
  const auto function_of = [&](int32_t stack) { return places.function(stack); };
  const auto line_of = [&](int32_t stack) { return places.line(stack); };
  const auto add_first = [&](const Rule& rule, const std::vector<SampleTotal>& list,
                             const auto& place_of, const auto& other_of, const char* other) {
    if (list.empty()) return;
    const SampleTotal& first = list.front();
    const double share = percentage_of(first.cpu_ns, totals.cpu_ns);
    if (share < kMostPercentage) return;
    const auto is_mine = [&](int32_t stack) {
      return !places.is_import(stack) && place_of(stack) == first.name && !places.is_driver(stack);
    };
    const bool is_function = &rule == &kFunctionRule;
    std::string text =
        fmt::format("{}: {}, {:.1f} % of the CPU time of {} samples",
                    is_function ? short_name_of(first.name) : first.name, time_text(first.cpu_ns),
                    share, format_count(static_cast<uint64_t>(totals.samples)));
    const std::string most = largest_part(trace, is_mine, other_of);
    if (!most.empty() && !first.name.ends_with(most)) text += fmt::format(", {} {}", other, most);
    claims.push_back({&rule, sampled(trace, is_mine), kGain, std::move(text)});
  };
  add_driver(trace, places, totals, claims);
  // The line first: of two that have the same samples it says more.
  add_first(kLineRule, totals.lines, line_of, function_of, "most of it in");
  add_first(kFunctionRule, totals.functions, function_of, line_of, "most of it below");
}

// What waits for a lock, however it is called: not for a condition, as threads without work do.
bool takes_a_lock(std::string_view function) {
  constexpr std::array kNames = {"pthread_mutex_lock",    "gthread_mutex_lock",    "lll_lock_wait",
                                 "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "take_gil"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](const char* name) { return function.find(name) != function.npos; });
}

// The function that waits for a lock at the end of a stack: the nearest one of the user's, or the
// outermost; kNone if it waits for none. Python's interpreter, whose functions may have no names,
// waits for a condition where it waits for the GIL, and for its own locks by semaphores.
int32_t waiter_of(const trace::Trace& trace, int32_t stack) {
  const auto frame = [&](int32_t node) -> const trace::CodeFrame& {
    return trace.stacks.frames[trace.stacks.frame[static_cast<size_t>(node)]];
  };
  bool waits = false, of_condition = false;
  for (int32_t node = stack; node != kNone; node = trace.stacks.parent[static_cast<size_t>(node)]) {
    const std::string& function = trace.names[frame(node).function];
    const bool is_condition = function.find("pthread_cond_") != function.npos;
    waits = waits || takes_a_lock(function) || (of_condition && frame(node).is_interpreter);
    of_condition = is_condition;
    if (is_condition || takes_a_lock(function)) continue;
    if (!frame(node).is_library || trace.stacks.parent[static_cast<size_t>(node)] == kNone) {
      return waits ? node : kNone;
    }
  }
  return kNone;
}

// What threads waited for locks, by thread, and where most of it was.
struct LockWaits {
  Lanes lanes;
  std::string most;
};

LockWaits lock_waits(const trace::Trace& trace) {
  const trace::Blocked& blocked = trace.blocked;
  LockWaits waits;
  std::map<std::string, int64_t> by_function;
  for (size_t i = 0; i < blocked.size(); ++i) {
    const int32_t waiter = waiter_of(trace, blocked.stack[i]);
    if (waiter == kNone) continue;
    const trace::CodeFrame& code =
        trace.stacks.frames[trace.stacks.frame[static_cast<size_t>(waiter)]];
    const trace::Interval time =
        in_window(trace, {blocked.time_ns[i] - blocked.wall_ns[i], blocked.time_ns[i]});
    by_function[trace.names[code.function]] += time.end_ns - time.start_ns;
    waits.lanes[static_cast<int32_t>(blocked.thread[i])].push_back(time);
  }
  for (auto& [thread, set] : waits.lanes) trace::normalise(set);
  waits.most = largest_of(by_function);
  return waits;
}

void add_locks(LockWaits waits, Claims& claims) {
  if (waits.lanes.empty()) return;
  std::string text = fmt::format("{} thread{} for {}, most of it in {}", waits.lanes.size(),
                                 waits.lanes.size() == 1 ? " waits" : "s wait",
                                 time_text(length_ns(waits.lanes)), short_name_of(waits.most));
  claims.push_back({&kLockRule, std::move(waits.lanes), kGain, std::move(text)});
}

// Calls of operators without the operators in them, by operator.
struct OwnTime {
  std::vector<int64_t> sums_ns;  // by name
  int64_t whole_ns = 0;
};

OwnTime own_time_of_operators(const trace::Trace& trace, const trace::OpTree& tree) {
  const auto is_operator = [&](size_t i) { return trace.apis.kind[i] == ApiKind::kOperator; };
  OwnTime own{std::vector<int64_t>(trace.names.size()), 0};
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (!is_operator(i)) continue;
    const trace::Interval time = time_of(trace, i);
    const int64_t time_ns = time.end_ns - time.start_ns;
    own.sums_ns[trace.apis.label[i]] += time_ns;
    const trace::Row parent = tree.nearest(tree.parent[i], is_operator);
    if (parent == kNone) {
      own.whole_ns += time_ns;
    } else {
      own.sums_ns[trace.apis.label[static_cast<size_t>(parent)]] -= time_ns;
    }
  }
  return own;
}

// When calls of an operator ran, and no operator in them.
Lanes own_lanes(const trace::Trace& trace, const trace::OpTree& tree, trace::NameId name) {
  const auto is_operator = [&](size_t i) { return trace.apis.kind[i] == ApiKind::kOperator; };
  Lanes mine, inside;
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (!is_operator(i)) continue;
    const trace::Interval time = time_of(trace, i);
    const auto thread = static_cast<int32_t>(trace.apis.thread[i]);
    if (trace.apis.label[i] == name) extend(mine[thread], time);
    const trace::Row parent = tree.nearest(tree.parent[i], is_operator);
    const bool is_inside = parent != kNone && trace.apis.label[static_cast<size_t>(parent)] == name;
    if (is_inside && trace.apis.label[i] != name) extend(inside[thread], time);
  }
  for (auto& [thread, set] : mine) set = trace::subtract(set, inside[thread]);
  return mine;
}

void add_operators(const trace::Trace& trace, Claims& claims) {
  const trace::OpTree tree = trace::build_op_tree(trace);
  const OwnTime own = own_time_of_operators(trace, tree);
  size_t largest = trace.empty_name;
  for (size_t name = 0; name < own.sums_ns.size(); ++name) {
    const int64_t sum_ns = own.sums_ns[name], most_ns = own.sums_ns[largest];
    const bool is_larger =
        sum_ns > most_ns || (sum_ns == most_ns && trace.names[name] < trace.names[largest]);
    if (is_larger) largest = name;
  }
  if (own.sums_ns.empty()) return;
  const double share = percentage_of(own.sums_ns[largest], own.whole_ns);
  if (share < kMostPercentage) return;
  claims.push_back(
      {&kOperatorRule, own_lanes(trace, tree, static_cast<trace::NameId>(largest)), kGain,
       fmt::format("{}: {}, {:.1f} % of the operators' time", short_name_of(trace.names[largest]),
                   time_text(own.sums_ns[largest]), share)});
}

// Whose waiting for data holds up the program: the threads of steps, or main threads. What another
// thread loads ahead delays nobody. Empty: not known.
std::set<int32_t> working_threads(const trace::Trace& trace) {
  std::set<int32_t> threads;
  if (const auto found = trace::find_steps(trace, ""); found.ok()) {
    for (const trace::Step& step : found->steps) threads.insert(step.thread);
  }
  if (!threads.empty()) return threads;
  for (const uint32_t thread : trace.apis.thread) {
    const trace::Thread& one = trace.threads[thread];
    const bool is_main =
        one.process != kNone && one.tid == trace.processes[static_cast<size_t>(one.process)].pid;
    if (is_main) threads.insert(static_cast<int32_t>(thread));
  }
  return threads;
}

void add_data_loading(const trace::Trace& trace, int64_t whole_ns, Claims& claims) {
  const std::set<int32_t> threads = working_threads(trace);
  Lanes loading;
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.apis.kind[i] != ApiKind::kMarker) continue;
    if (!trace::is_data_loader(trace.names[trace.apis.label[i]])) continue;
    const auto thread = static_cast<int32_t>(trace.apis.thread[i]);
    if (!threads.empty() && !threads.contains(thread)) continue;
    extend(loading[thread], time_of(trace, i));
  }
  const int64_t loading_ns = length_ns(loading);
  if (loading_ns == 0) return;
  std::string text =
      fmt::format("{} of {} are in data loaders", time_text(loading_ns), time_text(whole_ns));
  claims.push_back({&kDataRule, std::move(loading), 1.0, std::move(text)});
}

// When threads were sampled on a CPU, or between their first and their last recorded call.
Lanes times_of_threads(const trace::Trace& trace) {
  Lanes lanes = sampled(
      trace, [places = StackPlaces(trace)](int32_t stack) { return !places.is_import(stack); });
  std::map<int32_t, trace::Interval> extents;
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    const trace::Interval time = {trace.apis.start_ns[i], trace.apis.end_ns[i]};
    const auto [entry, is_new] =
        extents.try_emplace(static_cast<int32_t>(trace.apis.thread[i]), time);
    entry->second.end_ns = std::max(entry->second.end_ns, time.end_ns);
  }
  for (const auto& [thread, extent] : extents) {
    const trace::Interval part = in_window(trace, extent);
    if (part.start_ns < part.end_ns) lanes[thread] = trace::unite(lanes[thread], {part});
  }
  return lanes;
}

}  // namespace

std::vector<const Rule*> cpu_rules() {
  return {&kDriverRule, &kFunctionRule, &kLineRule, &kOperatorRule, &kDataRule, &kLockRule};
}

std::string few_samples_text(const trace::Trace& trace) {
  const auto samples = sample_totals(trace, Counted::kOwnWork).samples;
  if (samples == 0 || samples >= kFewSamples) return "";
  return fmt::format(
      "{} CPU sample{} are too few to say where the time went: record for longer, or sample more "
      "often (--sample 1000)",
      samples, samples == 1 ? "" : "s");
}

int64_t add_cpu_claims(const trace::Trace& trace, Claims& claims) {
  LockWaits locks = lock_waits(trace);
  Lanes threads = times_of_threads(trace);
  for (const auto& [thread, set] : locks.lanes) {
    threads[thread] = trace::unite(threads[thread], set);
  }
  const int64_t whole_ns = length_ns(threads);
  add_samples(trace, claims);
  add_locks(std::move(locks), claims);
  add_operators(trace, claims);
  add_data_loading(trace, whole_ns, claims);
  return whole_ns;
}

}  // namespace sonde::analysis
