#include "analysis/time/idle_gaps.h"

#include <algorithm>
#include <map>
#include <optional>

#include "analysis/arguments.h"

namespace sonde::analysis {
namespace {

using trace::Category;
using trace::Interval;
using trace::IntervalSet;
using trace::kNone;
using trace::Row;

const IntervalSet& set_of(const GpuTime& gpu, Category category) {
  return gpu.sets[static_cast<size_t>(category)];
}

IntervalSet kernels_of(const GpuTime& gpu) {
  return trace::unite(set_of(gpu, Category::kCompute), set_of(gpu, Category::kCommunication));
}

// Calls that make a stream wait, by thread and stream, in the order of their starts.
class WaitCalls {
 public:
  explicit WaitCalls(const trace::Trace& trace) : trace_(trace) {
    std::vector<bool> is_wait;
    for (const std::string& name : trace.names) is_wait.push_back(trace::is_wait_call(name));
    for (size_t i = 0; i < trace.apis.size(); ++i) {
      if (trace.apis.kind[i] != trace::ApiKind::kRuntime || !is_wait[trace.apis.name[i]]) continue;
      const uint32_t thread = trace.apis.thread[i];
      calls_[{thread, kAny}].push_back(static_cast<Row>(i));
      calls_[{thread, stream_of(i)}].push_back(static_cast<Row>(i));
    }
  }

  // When the thread's last wait before a launch began that is, or may be, about the launch's
  // stream.
  std::optional<int64_t> last_before(Row api) const {
    const auto row = static_cast<size_t>(api);
    const int64_t stream = trace_.apis.stream.empty() ? kAny : trace_.apis.stream[row];
    if (stream <= kSpecialStreams) return last_before(row, kAny);
    return std::max(last_before(row, stream), last_before(row, kSpecial));
  }

 private:
  // A wait of the null stream is one of the other streams, too; so is a call that names no stream.
  static constexpr int64_t kSpecialStreams = 2, kSpecial = 0, kAny = -1;

  int64_t stream_of(size_t api) const {
    if (trace_.apis.args.empty()) return kSpecial;
    const auto told = handle_argument(trace_.texts[trace_.apis.args[api]], "stream");
    return told && *told > kSpecialStreams ? *told : kSpecial;
  }

  std::optional<int64_t> last_before(size_t row, int64_t stream) const {
    const auto found = calls_.find({trace_.apis.thread[row], stream});
    if (found == calls_.end()) return std::nullopt;
    const auto& starts = trace_.apis.start_ns;
    const auto after = std::partition_point(
        found->second.begin(), found->second.end(),
        [&](Row call) { return starts[static_cast<size_t>(call)] < starts[row]; });
    if (after == found->second.begin()) return std::nullopt;
    return starts[static_cast<size_t>(*(after - 1))];
  }

  const trace::Trace& trace_;
  std::map<std::pair<uint32_t, int64_t>, std::vector<Row>> calls_;
};

class Reasons {
 public:
  Reasons(const trace::Trace& trace, const HostTime& host, int64_t latency_ns)
      : trace_(trace), host_(host), latency_ns_(latency_ns), waits_(trace) {
    find_previous_in_queue();
    find_next_launches();
  }

  // The same at the start of a window. Why an operation that was launched before it has not begun
  // is not known.
  void add_first(const Gap& gap, std::vector<Gap>& gaps) const {
    const Row api = trace_.ops.api[static_cast<size_t>(gap.next)];
    if (api == kNone || trace_.apis.start_ns[static_cast<size_t>(api)] < gap.time.start_ns) {
      return gaps.push_back(gap);
    }
    add(gap, gaps);
  }

  // And at its end, where only calls are known of what comes after it.
  void add_last(Gap gap, std::vector<Gap>& gaps) const {
    const auto launch = next_launch_.find(trace_.ops.process[static_cast<size_t>(gap.previous)]);
    if (launch != next_launch_.end()) {
      gap.launch = launch->second;
      const auto api = static_cast<size_t>(gap.launch);
      const int64_t launched_ns =
          std::clamp(trace_.apis.start_ns[api], gap.time.start_ns, gap.time.end_ns);
      add_late(gap, launched_ns, static_cast<Row>(trace_.apis.thread[api]), gaps);
      gap.time.start_ns = launched_ns;
    }
    if (gap.time.start_ns < gap.time.end_ns) gaps.push_back(gap);
  }

  // A gap before the launching call began is the program's: parts in which the launching thread
  // waited for a device, and parts in which it did something else. What comes after is not, if the
  // operation begins much later.
  void add(Gap gap, std::vector<Gap>& gaps) const {
    const trace::Apis& apis = trace_.apis;
    const Row api = trace_.ops.api[static_cast<size_t>(gap.next)];
    gap.reason = IdleReason::kUnlinked;
    if (api == kNone) return gaps.push_back(gap);
    const Row thread = host_.launchers().thread_of(host_.launchers().awaited(gap.next));
    const int64_t launched_ns = apis.start_ns[static_cast<size_t>(api)];
    if (launched_ns >= gap.time.start_ns) {
      add_late(gap, launched_ns, thread, gaps);
      const bool was_late = !gaps.empty() && gaps.back().reason == IdleReason::kLaunchBound &&
                            gaps.back().gpu == gap.gpu && gaps.back().time.end_ns == launched_ns;
      if (was_late && gap.time.end_ns - launched_ns < latency_ns_) {
        gaps.back().time.end_ns = gap.time.end_ns;
        return;
      }
      gap.time.start_ns = launched_ns;
    }
    if (gap.time.end_ns - gap.time.start_ns < latency_ns_) {
      gap.reason = IdleReason::kLaunchLatency;
      return add_part(gap, gaps);
    }
    gap.reason = IdleReason::kOther;
    if (was_told_to_wait(gap.next, api)) gap = without_launching(gap, api, gaps);
    add_part(gap, gaps);
  }

 private:
  // A call to wait between the launch of the operation before it in its queue and its own.
  bool was_told_to_wait(Row next, Row api) const {
    const auto wait_ns = waits_.last_before(api);
    if (!wait_ns) return false;
    const Row previous = previous_in_queue_[static_cast<size_t>(next)];
    const Row launch = previous == kNone ? kNone : trace_.ops.api[static_cast<size_t>(previous)];
    return launch == kNone || *wait_ns >= trace_.apis.start_ns[static_cast<size_t>(launch)];
  }

  // The part of a gap that the dependency explains: a long launching call is not waiting.
  Gap without_launching(Gap gap, Row api, std::vector<Gap>& gaps) const {
    const int64_t launched_ns = launched_by(gap, api);
    if (launched_ns - gap.time.start_ns >= latency_ns_) {
      if (gap.time.end_ns - launched_ns < latency_ns_) return gap;
      Gap before = gap;
      before.time.end_ns = gap.time.start_ns = launched_ns;
      add_part(before, gaps);
    }
    gap.reason = IdleReason::kDependency;
    return gap;
  }

  // Until when the launching call may not have given the operation to the queue yet: a call that
  // returned before the end of the operation did not wait for it.
  int64_t launched_by(const Gap& gap, Row api) const {
    const int64_t returned_ns = trace_.apis.end_ns[static_cast<size_t>(api)];
    const bool waited = returned_ns >= trace_.ops.end_ns[static_cast<size_t>(gap.next)];
    if (waited) return gap.time.start_ns;
    return std::clamp(returned_ns, gap.time.start_ns, gap.time.end_ns);
  }

  void find_previous_in_queue() {
    std::vector<Row> last(trace_.queues.size(), kNone);
    previous_in_queue_.reserve(trace_.ops.size());
    for (size_t i = 0; i < trace_.ops.size(); ++i) {
      previous_in_queue_.push_back(last[trace_.ops.queue[i]]);
      last[trace_.ops.queue[i]] = static_cast<Row>(i);
    }
  }

  // Of each process the first call since the start of the window that launches a kernel after its
  // end: a call of the name of those that launched the others, without an operation.
  void find_next_launches() {
    if (!trace_.window) return;
    std::vector<bool> launches(trace_.names.size(), false), has_op(trace_.apis.size(), false);
    for (size_t op = 0; op < trace_.ops.size(); ++op) {
      if (trace_.ops.api[op] == kNone) continue;
      const auto api = static_cast<size_t>(trace_.ops.api[op]);
      has_op[api] = true;
      const Category category = trace_.ops.category[op];
      if (category == Category::kCompute || category == Category::kCommunication) {
        launches[trace_.apis.name[api]] = true;
      }
    }
    for (size_t api = 0; api < trace_.apis.size(); ++api) {
      if (!launches[trace_.apis.name[api]] || has_op[api]) continue;
      if (trace_.apis.start_ns[api] < trace_.window->start_ns) continue;
      next_launch_.try_emplace(trace_.threads[trace_.apis.thread[api]].process,
                               static_cast<Row>(api));
    }
  }

  // From the start of the gap until the launch.
  void add_late(Gap gap, int64_t launched_ns, Row thread, std::vector<Gap>& gaps) const {
    const IntervalSet none;
    const IntervalSet& waits =
        thread == kNone ? none : host_.waits_of(static_cast<uint32_t>(thread));
    auto wait = std::partition_point(waits.begin(), waits.end(), [&](const Interval& one) {
      return one.end_ns <= gap.time.start_ns;
    });
    while (gap.time.start_ns < launched_ns) {
      Gap part = gap;
      const bool is_in_wait = wait != waits.end() && wait->start_ns <= gap.time.start_ns;
      const int64_t next_ns = wait == waits.end() ? launched_ns
                              : is_in_wait        ? wait->end_ns
                                                  : wait->start_ns;
      part.reason = is_in_wait ? IdleReason::kSync : IdleReason::kLaunchBound;
      part.time.end_ns = std::min(next_ns, launched_ns);
      gap.time.start_ns = part.time.end_ns;
      if (is_in_wait) ++wait;
      add_part(part, gaps);
    }
  }

  void add_part(Gap gap, std::vector<Gap>& gaps) const {
    if (gap.time.end_ns <= gap.time.start_ns) return;
    gap.host = host_.main_deed_between(gap.previous, gap.next, gap.time, gap.launch);
    gaps.push_back(gap);
  }

  const trace::Trace& trace_;
  const HostTime& host_;
  int64_t latency_ns_;
  WaitCalls waits_;
  std::vector<Row> previous_in_queue_;
  std::map<int32_t, Row> next_launch_;  // by process
};

// The operations of one GPU that take time, by start, and those that ended last so far.
struct Lane {
  std::vector<Row> ops;
  std::vector<Row> last_ended;
};

std::map<int64_t, Lane> lanes_of(const trace::Trace& trace) {
  std::map<int64_t, Lane> lanes;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.op_ns(i) == 0) continue;
    Lane& lane = lanes[trace.ops.gpu[i]];
    const auto row = static_cast<Row>(i);
    const Row last = lane.last_ended.empty() ? row : lane.last_ended.back();
    lane.ops.push_back(row);
    lane.last_ended.push_back(
        trace.ops.end_ns[i] >= trace.ops.end_ns[static_cast<size_t>(last)] ? row : last);
  }
  return lanes;
}

}  // namespace

const char* idle_reason_name(IdleReason reason) {
  constexpr const char* kNames[kIdleReasons] = {
      "copy", "sync", "launch-bound", "launch latency", "dependency", "unlinked", "edge", "other"};
  return kNames[static_cast<size_t>(reason)];
}

std::vector<Gap> idle_gaps(const trace::Trace& trace, const HostTime& host, int64_t latency_ns) {
  std::vector<Gap> gaps;
  const Reasons reasons(trace, host, latency_ns);
  const auto lanes = lanes_of(trace);
  for (const auto& [id, gpu] : gpu_times(trace)) {
    const auto found = lanes.find(id);
    const Lane lane = found == lanes.end() ? Lane() : found->second;
    const IntervalSet kernels = kernels_of(gpu);
    const IntervalSet copies =
        trace::unite(set_of(gpu, Category::kCopy), set_of(gpu, Category::kMemset));
    const size_t first_of_gpu = gaps.size();
    for (const Interval& gap : trace::subtract(copies, kernels)) {
      gaps.push_back({gap, id, IdleReason::kCopy});
    }
    size_t next = 0;  // the first operation that starts at or after the end of the gap
    const IntervalSet work =
        trace::unite(trace::unite(kernels, copies), set_of(gpu, Category::kOther));
    for (const Interval& time : trace::gaps(work, gpu.extent)) {
      while (next < lane.ops.size() &&
             trace.ops.start_ns[static_cast<size_t>(lane.ops[next])] < time.end_ns) {
        ++next;
      }
      Gap gap{time, id, IdleReason::kEdge};
      if (next > 0) gap.previous = lane.last_ended[next - 1];
      if (next < lane.ops.size()) gap.next = lane.ops[next];
      if (gap.previous != kNone && gap.next != kNone) {
        reasons.add(gap, gaps);
      } else if (gap.next != kNone) {
        reasons.add_first(gap, gaps);
      } else if (gap.previous != kNone) {
        reasons.add_last(gap, gaps);
      } else {
        gaps.push_back(gap);
      }
    }
    std::sort(gaps.begin() + static_cast<std::ptrdiff_t>(first_of_gpu), gaps.end(),
              [](const Gap& a, const Gap& b) { return a.time.start_ns < b.time.start_ns; });
  }
  return gaps;
}

}  // namespace sonde::analysis
