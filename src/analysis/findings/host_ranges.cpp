// Ranges and calls of the host that keep GPUs waiting: data loaders, allocations, garbage
// collection.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "analysis/findings/rules.h"
#include "analysis/time/work_launchers.h"
#include "base/strings.h"
#include "trace/host_work.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::IntervalSet;
using trace::kNone;
using trace::Row;

constexpr int64_t kFewAllocations = 10;

constexpr Rule kDataRule = {
    "data-loading",
    "GPUs are idle while the program waits for its data",
    "Use more workers, a larger prefetch_factor, pin_memory=True, persistent_workers=True; do "
    "less work per sample, or prepare the samples on disk. sonde critical-path shows what bounds "
    "a step.",
    "idle time with reason sync, launch-bound or unlinked in sonde idle, within data loader ranges "
    "(DataLoader) of the thread that launches what ends it; a thread that loads or copies ahead "
    "keeps no GPU waiting",
    "all of it",
    true};
constexpr Rule kAllocationRule = {
    "allocations",
    "GPUs are idle while the program allocates or frees their memory",
    "Allocate once, outside of the loop, or from a pool (hipMallocAsync, cudaMallocAsync, torch's "
    "caching allocator; expandable segments against fragmentation). sonde memory shows where.",
    "idle time with reason sync, launch-bound or unlinked in sonde idle, within calls that allocate "
    "or free device memory, of the thread that launches what ends it, if at least ten of the calls "
    "are in the second half of the time, when the warm-up is over",
    "all of it",
    true};
constexpr Rule kCollectorRule = {
    "python-gc",
    "GPUs are idle while Python collects garbage",
    "Call gc.freeze() after the set-up, gc.disable() in the loop and gc.collect() at a chosen "
    "moment, the same on all ranks.",
    "idle time with reason sync, launch-bound or unlinked in sonde idle, within Python's garbage "
    "collection: markers and frames of it",
    "all of it",
    true};

struct Ranges {
  struct Thread {
    IntervalSet times;
    int64_t count = 0;
  };
  std::map<uint32_t, Thread> by_thread;
  std::set<trace::NameId> labels;
};

// Calls whose names `wanted` accepts, as far as they are in `time`; only those of some threads.
template <typename Wanted>
Ranges ranges_of(const trace::Trace& trace, trace::Interval time, Wanted wanted,
                 const std::vector<bool>* threads = nullptr) {
  std::vector<int8_t> known(trace.names.size(), -1);
  Ranges ranges;
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.apis.kind[i] == ApiKind::kDeviceMarker || trace.apis.start_ns[i] >= time.end_ns ||
        trace.apis.end_ns[i] <= time.start_ns) {
      continue;
    }
    int8_t& is_wanted = known[trace.apis.label[i]];
    if (is_wanted < 0) is_wanted = wanted(trace.names[trace.apis.label[i]]) ? 1 : 0;
    if (is_wanted == 0) continue;
    if (threads != nullptr && !(*threads)[trace.apis.thread[i]]) continue;
    Ranges::Thread& thread = ranges.by_thread[trace.apis.thread[i]];
    thread.times.push_back({std::max(trace.apis.start_ns[i], time.start_ns),
                            std::min(trace.apis.end_ns[i], time.end_ns)});
    ++thread.count;
    if (is_wanted == 1) ranges.labels.insert(trace.apis.label[i]);
    is_wanted = 2;  // and its label is known
  }
  // Ranges may lie within one another.
  for (auto& [number, thread] : ranges.by_thread) trace::normalise(thread.times);
  return ranges;
}

// Threads that launch work, and all threads of a process without known launches. A loader that
// loads ahead in a thread of its own keeps no GPU waiting: its consumer does, where it waits for
// it.
std::vector<bool> launching_threads(const trace::Trace& trace) {
  std::vector<bool> launches(trace.threads.size(), false);
  std::vector<bool> is_known(trace.processes.size(), false);
  for (const Row api : trace.ops.api) {
    if (api == kNone) continue;
    const uint32_t thread = trace.apis.thread[static_cast<size_t>(api)];
    const int32_t process = trace.threads[thread].process;
    launches[thread] = true;
    if (process != kNone) is_known[static_cast<size_t>(process)] = true;
  }
  for (size_t thread = 0; thread < launches.size(); ++thread) {
    const int32_t process = trace.threads[thread].process;
    if (process == kNone || !is_known[static_cast<size_t>(process)]) launches[thread] = true;
  }
  return launches;
}

// That of all GPUs.
trace::Interval extent_of(const Evidence& evidence) {
  trace::Interval extent = evidence.gpus.begin()->second.extent;
  for (const auto& [id, gpu] : evidence.gpus) {
    extent.start_ns = std::min(extent.start_ns, gpu.extent.start_ns);
    extent.end_ns = std::max(extent.end_ns, gpu.extent.end_ns);
  }
  return extent;
}

bool is_in(const Ranges& ranges, Row thread, trace::Interval time) {
  const auto found = ranges.by_thread.find(static_cast<uint32_t>(thread));
  if (found == ranges.by_thread.end()) return false;
  const IntervalSet& times = found->second.times;
  const auto range = std::partition_point(
      times.begin(), times.end(), [&](const auto& one) { return one.end_ns <= time.start_ns; });
  return range != times.end() && range->start_ns < time.end_ns;
}

// The thread that kept the GPU waiting: it launched what ended the gap or, if that is not known or
// it was in nothing while the other was in one of the ranges (HostTime::deeds_between()), what came
// before. kNone: neither is known.
Row thread_of(const trace::Trace& trace, const WorkLaunchers& launchers, const Gap& gap,
              const Ranges& ranges) {
  if (gap.launch != kNone)
    return static_cast<Row>(trace.apis.thread[static_cast<size_t>(gap.launch)]);
  const Row next = launchers.thread_of(launchers.awaited(gap.next));
  const Row previous = launchers.thread_of(launchers.awaited(gap.previous));
  if (next == kNone || previous == kNone || previous == next) {
    return next != kNone ? next : previous;
  }
  const bool is_previous = ranges.labels.contains(gap.host.label) &&
                           !is_in(ranges, next, gap.time) && is_in(ranges, previous, gap.time);
  return is_previous ? previous : next;
}

// The idle time of each GPU by the thread that kept it waiting.
std::map<std::pair<int64_t, Row>, IntervalSet> idle_by_launcher(const Evidence& evidence,
                                                                std::span<const Gap> gaps,
                                                                const Ranges& ranges) {
  const WorkLaunchers launchers(evidence.trace);
  std::map<std::pair<int64_t, Row>, IntervalSet> idle;
  for (const Gap& gap : gaps) {
    if (!may_be_of_host(gap.reason) || !evidence.gpus.contains(gap.gpu)) continue;
    idle[{gap.gpu, thread_of(evidence.trace, launchers, gap, ranges)}].push_back(gap.time);
  }
  return idle;
}

// Whether the GPU may work for the process.
bool is_of(const GpuTime& gpu, int32_t process) {
  return process == kNone || gpu.processes.empty() || gpu.processes.contains(process);
}

// When GPUs were idle while a thread that they waited for was in one of the ranges. What a thread
// that copies ahead does keeps no GPU waiting.
Lanes idle_while(const Evidence& evidence, std::span<const Gap> gaps, Ranges& ranges) {
  Lanes idle;
  std::set<uint32_t> seen;
  for (auto& [key, times] : idle_by_launcher(evidence, gaps, ranges)) {
    const auto& [gpu, launcher] = key;
    trace::normalise(times);
    for (const auto& [thread, of_thread] : ranges.by_thread) {
      const bool is_waited_for =
          launcher != kNone ? static_cast<Row>(thread) == launcher
                            : is_of(evidence.gpus.at(gpu), evidence.trace.threads[thread].process);
      if (!is_waited_for) continue;
      const IntervalSet both = trace::intersect(times, of_thread.times);
      if (!both.empty()) seen.insert(thread);
      idle[gpu] = trace::unite(idle[gpu], both);
    }
  }
  std::erase_if(ranges.by_thread, [&](const auto& entry) { return !seen.contains(entry.first); });
  return idle;
}

// The same while any thread of a GPU's processes was in one of them: only one thread runs Python.
Lanes idle_while_any(const Evidence& evidence, std::span<const Gap> gaps, const Ranges& ranges) {
  Lanes idle;
  for (const Gap& gap : gaps) {
    const bool counts = may_be_of_host(gap.reason) && evidence.gpus.contains(gap.gpu);
    if (counts) extend(idle[gap.gpu], gap.time);
  }
  for (auto& [id, times] : idle) {
    IntervalSet mine;
    for (const auto& [thread, of_thread] : ranges.by_thread) {
      if (is_of(evidence.gpus.at(id), evidence.trace.threads[thread].process)) {
        mine = trace::unite(mine, of_thread.times);
      }
    }
    times = trace::intersect(times, mine);
  }
  return idle;
}

int64_t count_of(const Ranges& ranges) {
  int64_t count = 0;
  for (const auto& [number, thread] : ranges.by_thread) count += thread.count;
  return count;
}

// "3 ranges of data loaders take 2 ms": `one` is a range, `where` the rest.
void add_ranges(const Evidence& evidence, const Rule& rule, const char* one, const char* where,
                const Ranges& ranges, Lanes idle, Claims& claims) {
  const int64_t count = count_of(ranges);
  if (count == 0) return;
  int64_t total_ns = 0;
  for (const auto& [number, thread] : ranges.by_thread) total_ns += trace::length_ns(thread.times);
  std::string text =
      fmt::format("{} {}{}{} take{} {}, and the GPUs are idle for {} meanwhile",
                  format_count(static_cast<uint64_t>(count)), one, count == 1 ? "" : "s", where,
                  count == 1 ? "s" : "", time_text(total_ns), time_text(length_ns(idle)));
  text += bound_text(evidence, idle);
  const double part = part_to_save(evidence, idle);
  claims.push_back({&rule, std::move(idle), part, std::move(text)});
}

}  // namespace

bool may_be_of_host(IdleReason reason) {
  return reason == IdleReason::kSync || reason == IdleReason::kLaunchBound ||
         reason == IdleReason::kUnlinked;
}

std::vector<const Rule*> range_rules() { return {&kDataRule, &kAllocationRule, &kCollectorRule}; }

void add_range_claims(const Evidence& evidence, std::span<const Gap> gaps, Claims& claims) {
  const trace::Trace& trace = evidence.trace;
  const trace::Interval extent = extent_of(evidence);
  const std::vector<bool> launching = launching_threads(trace);
  Ranges loading = ranges_of(trace, extent, trace::is_data_loader, &launching);
  Lanes idle = idle_while(evidence, gaps, loading);
  add_ranges(evidence, kDataRule, "range", " of data loaders", loading, std::move(idle), claims);
  const Ranges collections = ranges_of(trace, extent, trace::is_collector);
  add_ranges(evidence, kCollectorRule, "collection", "", collections,
             idle_while_any(evidence, gaps, collections), claims);
  const trace::Interval second_half = {extent.start_ns + (extent.end_ns - extent.start_ns) / 2,
                                       extent.end_ns};
  Ranges allocations = ranges_of(trace, second_half, trace::is_memory_call, &launching);
  idle_while(evidence, gaps, allocations);
  if (count_of(allocations) < kFewAllocations) return;
  allocations = ranges_of(trace, extent, trace::is_memory_call, &launching);
  idle = idle_while(evidence, gaps, allocations);
  add_ranges(evidence, kAllocationRule, "call", "", allocations, std::move(idle), claims);
}

}  // namespace sonde::analysis
