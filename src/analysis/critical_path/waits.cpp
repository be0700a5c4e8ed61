#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "analysis/arguments.h"
#include "analysis/critical_path/graph.h"
#include "analysis/own_copies.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::kNone;
using trace::Row;

// The operations of a queue by when they were launched.
struct QueueOps {
  std::vector<int64_t> launched_ns;
  std::vector<Row> rows;
  std::vector<Row> last;  // of rows [0, i], the one that ended last
  std::vector<Row> by_end;
};

// By operation. What has no call and comes on its queue before all that has one was launched before
// the recording; elsewhere nothing but its start is known.
std::vector<int64_t> launch_times(const trace::Trace& trace) {
  std::vector<int64_t> times = trace.ops.start_ns;
  std::vector<std::vector<Row>> unlinked(trace.queues.size());  // until the first with a call
  std::vector<bool> has_call(trace.queues.size(), false);
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const uint32_t queue = trace.ops.queue[op];
    const Row api = trace.ops.api[op];
    if (api != kNone) {
      times[op] = trace.apis.start_ns[static_cast<size_t>(api)];
      has_call[queue] = true;
    } else if (!has_call[queue]) {
      unlinked[queue].push_back(static_cast<Row>(op));
    }
  }
  for (size_t queue = 0; queue < unlinked.size(); ++queue) {
    if (!has_call[queue]) continue;
    for (const Row op : unlinked[queue]) {
      times[static_cast<size_t>(op)] = std::numeric_limits<int64_t>::min();
    }
  }
  return times;
}

std::vector<QueueOps> ops_of_queues(const trace::Trace& trace,
                                    const std::vector<int64_t>& launched_ns) {
  std::vector<QueueOps> queues(trace.queues.size());
  const auto& end_ns = trace.ops.end_ns;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    queues[trace.ops.queue[i]].rows.push_back(static_cast<Row>(i));
  }
  for (QueueOps& queue : queues) {
    queue.by_end = queue.rows;
    std::stable_sort(queue.by_end.begin(), queue.by_end.end(), [&](Row a, Row b) {
      return end_ns[static_cast<size_t>(a)] < end_ns[static_cast<size_t>(b)];
    });
    const auto launched = [&](Row row) { return launched_ns[static_cast<size_t>(row)]; };
    std::stable_sort(queue.rows.begin(), queue.rows.end(),
                     [&](Row a, Row b) { return launched(a) < launched(b); });
    for (const Row row : queue.rows) {
      queue.launched_ns.push_back(launched(row));
      const bool later = queue.last.empty() || end_ns[static_cast<size_t>(row)] >=
                                                   end_ns[static_cast<size_t>(queue.last.back())];
      queue.last.push_back(later ? row : queue.last.back());
    }
  }
  return queues;
}

// The operation that ended last of those launched before a time.
Row last_launched_before(const QueueOps& queue, int64_t time_ns) {
  const auto next = std::lower_bound(queue.launched_ns.begin(), queue.launched_ns.end(), time_ns);
  if (next == queue.launched_ns.begin()) return kNone;
  return queue.last[static_cast<size_t>(next - queue.launched_ns.begin()) - 1];
}

class WaitFinder {
 public:
  WaitFinder(const trace::Trace& trace, const OpOrder& order)
      : trace_(trace),
        order_(order),
        launched_ns_(launch_times(trace)),
        queues_(ops_of_queues(trace, launched_ns_)),
        is_told_(trace.apis.size(), false) {
    for (const std::string& name : trace.names) {
      is_sync_.push_back(trace::is_sync_call(name));
      is_wait_.push_back(trace::is_wait_call(name));
      frees_.push_back(starts_with_any(name, {"hipFree", "cudaFree"}) &&
                       name.find("Async") == name.npos);
    }
  }

  Waits find() {
    index_correlations();
    for (size_t i = 0; i < trace_.apis.size(); ++i) {
      if (trace_.apis.kind[i] == ApiKind::kDeviceSync) take_told(i);
    }
    take_own_copies();
    take_streams();
    take_wait_lists();
    for (size_t i = 0; i < trace_.apis.size(); ++i) {
      const bool waits = is_runtime(i, is_sync_) || is_runtime(i, frees_);
      if (waits && !is_told_[i]) of_many_.push_back({static_cast<Row>(i), kNone, true});
    }
    take_waits_for_many();
    if (!waits_are_told_) guess_queues();
    for (std::vector<Waits::Wait>* list : {&waits_.calls, &waits_.queues}) {
      std::stable_sort(list->begin(), list->end(), [](const Waits::Wait& a, const Waits::Wait& b) {
        return a.waiter < b.waiter;
      });
    }
    return std::move(waits_);
  }

 private:
  using Ends = std::set<std::pair<int64_t, Row>>;  // operations by end

  bool is_runtime(size_t api, const std::vector<bool>& which) const {
    return trace_.apis.kind[api] == ApiKind::kRuntime && which[trace_.apis.name[api]];
  }
  const std::string& args_of(size_t api) const { return trace_.texts[trace_.apis.args[api]]; }

  void index_correlations() {
    for (size_t i = 0; i < trace_.apis.size(); ++i) {
      if (trace_.apis.kind[i] != ApiKind::kRuntime || trace_.apis.args[i] == 0) continue;
      const auto number = integer_argument(args_of(i), "correlation");
      if (number) by_correlation_.emplace(std::pair(file_of(i), *number), static_cast<Row>(i));
    }
  }

  // Which file of a merged one the call is of: correlations and GPUs are numbered anew in each.
  int64_t file_of(size_t api) const {
    const int32_t process = trace_.threads[trace_.apis.thread[api]].process;
    if (process == kNone) return 0;
    return trace::file_of(trace_.processes[static_cast<size_t>(process)].pid);
  }

  // Numbers of several processes may be equal: the call that is nearest in time.
  Row call_of(int64_t file, int64_t correlation, int64_t time_ns) const {
    Row nearest = kNone;
    int64_t distance = std::numeric_limits<int64_t>::max();
    const auto [first, last] = by_correlation_.equal_range({file, correlation});
    for (auto entry = first; entry != last; ++entry) {
      const int64_t away =
          std::abs(trace_.apis.start_ns[static_cast<size_t>(entry->second)] - time_ns);
      if (away < distance) nearest = entry->second;
      distance = std::min(distance, away);
    }
    return nearest;
  }

  const QueueOps* queue_of(int64_t gpu, std::optional<int64_t> stream) const {
    if (!stream) return nullptr;
    const trace::Queue wanted = {gpu, *stream};
    const auto found = std::lower_bound(trace_.queues.begin(), trace_.queues.end(), wanted);
    if (found == trace_.queues.end() || *found != wanted) return nullptr;
    return &queues_[static_cast<size_t>(found - trace_.queues.begin())];
  }

  // Clocks of devices are not exact: what ends after the call, but nearer to its end than to its
  // begin, was awaited as well.
  void add_call(size_t call, Row awaited) {
    if (awaited == kNone) return;
    const int64_t end_ns = trace_.ops.end_ns[static_cast<size_t>(awaited)];
    if (end_ns <= trace_.apis.start_ns[call]) return;
    const int64_t late_ns = end_ns - trace_.apis.end_ns[call];
    if (late_ns >= trace_.api_ns(call)) return;
    if (late_ns > 0) awaited = last_until_return(call, awaited);
    if (awaited != kNone) waits_.calls.push_back({static_cast<Row>(call), awaited});
  }

  // How far the queue of an operation had come when the call returned: what ran then, or else what
  // had ended last.
  Row last_until_return(size_t call, Row awaited) const {
    const std::vector<Row>& rows = queues_[trace_.ops.queue[static_cast<size_t>(awaited)]].by_end;
    const int64_t start_ns = trace_.apis.start_ns[call], return_ns = trace_.apis.end_ns[call];
    const auto end_of = [&](Row row) { return trace_.ops.end_ns[static_cast<size_t>(row)]; };
    const auto was_launched = [&](Row row) {
      return launched_ns_[static_cast<size_t>(row)] < start_ns;
    };
    auto next = std::upper_bound(rows.begin(), rows.end(), return_ns,
                                 [&](int64_t time, Row row) { return time < end_of(row); });
    if (next != rows.end() && was_launched(*next) &&
        trace_.ops.start_ns[static_cast<size_t>(*next)] < return_ns) {
      return *next;
    }
    while (next != rows.begin() && end_of(*--next) > start_ns) {
      if (was_launched(*next)) return *next;
    }
    return kNone;
  }

  // The file says what was waited for.
  void take_told(size_t sync) {
    const std::string& args = args_of(sync);
    const std::string& what = trace_.names[trace_.apis.name[sync]];
    const int64_t file = file_of(sync);
    const int64_t gpu =
        integer_argument(args, "device").value_or(0) + trace::first_gpu_of_file(file);
    const auto correlation = integer_argument(args, "correlation");
    const Row host = correlation ? call_of(file, *correlation, trace_.apis.start_ns[sync]) : kNone;
    if (host == kNone) return;
    const auto call = static_cast<size_t>(host);
    is_told_[call] = true;
    const int64_t start_ns = trace_.apis.start_ns[call];
    int64_t recorded_ns = start_ns;
    const auto record = integer_argument(args, "wait_on_cuda_event_record_corr_id");
    if (record) {
      const Row row = call_of(file, *record, start_ns);
      if (row == kNone) return;  // recorded before the trace: nothing in it is waited for
      recorded_ns = trace_.apis.start_ns[static_cast<size_t>(row)];
    }
    const QueueOps* source = queue_of(gpu, integer_argument(args, "wait_on_stream"));
    if (what == "Stream Wait Event") {
      waits_are_told_ = true;
      const QueueOps* queue = queue_of(gpu, integer_argument(args, "stream"));
      if (queue != nullptr && source != nullptr) add_queue(*queue, start_ns, *source, recorded_ns);
    } else if (!is_sync_[trace_.apis.name[call]]) {
      return;  // a query: it does not wait
    } else if (what == "Event Sync") {
      if (source != nullptr) add_call(call, last_launched_before(*source, recorded_ns));
    } else if (what == "Stream Sync") {
      const QueueOps* queue = queue_of(gpu, integer_argument(args, "stream"));
      if (queue != nullptr) add_call(call, last_launched_before(*queue, start_ns));
    } else {
      of_many_.push_back({host, gpu, false});
    }
  }

  // The first operation that was put into the queue after the wait is what waits.
  void add_queue(const QueueOps& queue, int64_t wait_ns, const QueueOps& source,
                 int64_t recorded_ns) {
    const auto next = std::lower_bound(queue.launched_ns.begin(), queue.launched_ns.end(), wait_ns);
    const Row awaited = last_launched_before(source, recorded_ns);
    if (next == queue.launched_ns.end() || awaited == kNone) return;
    const Row waiter = queue.rows[static_cast<size_t>(next - queue.launched_ns.begin())];
    if (waiter != awaited) waits_.queues.push_back({waiter, awaited});
  }

  // Calls that name their events and streams, as Sonde records them: an event stands for what was
  // put into its stream before it was recorded, and what a stream is given after a wait waits for
  // it.
  void take_streams() {
    if (order_.streams.empty()) return;
    for (size_t i = 0; i < trace_.apis.size(); ++i) {
      if (trace_.apis.kind[i] != ApiKind::kRuntime || trace_.apis.args[i] == 0) continue;
      const std::string& name = trace_.names[trace_.apis.name[i]];
      const auto event = handle_argument(args_of(i), "event");
      auto stream = handle_argument(args_of(i), "stream");
      if (stream) stream = order_.handle_of(trace_, i, *stream);
      const int32_t process = trace_.threads[trace_.apis.thread[i]].process;
      const auto call = static_cast<Row>(i);
      if (event && trace::is_record_call(name)) {
        const int64_t recorded_in = stream ? *stream : order_.handle_of(trace_, i, 0);
        recorded_[{process, *event}] = order_.last_before(trace_, process, recorded_in, call);
      } else if (event && stream && is_wait_[trace_.apis.name[i]]) {
        waits_are_told_ = true;
        const Row waiter = order_.first_from(trace_, process, *stream, call);
        for (const Row awaited : recorded_of(process, *event)) {
          if (waiter != kNone && waiter != awaited) waits_.queues.push_back({waiter, awaited});
        }
      } else if (is_sync_[trace_.apis.name[i]] && !is_told_[i] && (event || stream)) {
        const std::vector<Row> awaited = event ? recorded_of(process, *event)
                                               : order_.last_before(trace_, process, *stream, call);
        is_told_[i] = !awaited.empty();
        for (const Row row : awaited) add_call(i, row);
      }
    }
  }

  void take_wait_lists() {
    WaitLists lists = read_wait_lists(trace_);
    if (!lists.operations.empty()) waits_are_told_ = true;
    waits_.queues.insert(waits_.queues.end(), lists.operations.begin(), lists.operations.end());
    for (const Waits::Wait& wait : lists.calls) {
      const auto call = static_cast<size_t>(wait.waiter);
      is_told_[call] = true;
      add_call(call, wait.awaited);
    }
  }

  std::vector<Row> recorded_of(int32_t process, int64_t event) const {
    const auto found = recorded_.find({process, event});
    return found == recorded_.end() ? std::vector<Row>() : found->second;
  }

  // A call that returns when it is done waits for what it launched.
  bool blocks(size_t api) const {
    if (is_runtime(api, is_sync_)) return true;
    if (!trace_.apis.blocks.empty() && trace_.apis.blocks[api] != 0) return true;
    return trace_.apis.args[api] != 0 &&
           integer_argument(args_of(api), "blocking").value_or(0) != 0;
  }

  void take_own_copies() {
    for (size_t op = 0; op < trace_.ops.size(); ++op) {
      const Row api = trace_.ops.api[op];
      if (api == kNone) continue;
      if (!blocks(static_cast<size_t>(api)) && !is_awaited_by_its_call(trace_, op)) continue;
      is_told_[static_cast<size_t>(api)] = true;
      add_call(static_cast<size_t>(api), static_cast<Row>(op));
    }
  }

  // Calls that wait for more than one queue, by when they were made: a sweep over all launches
  // keeps what of each queue was launched until then and ended last.
  void take_waits_for_many() {
    std::stable_sort(of_many_.begin(), of_many_.end(),
                     [](const WaitForMany& a, const WaitForMany& b) { return a.call < b.call; });
    std::vector<Row> launches(trace_.ops.size());
    std::iota(launches.begin(), launches.end(), 0);
    const auto launched = [&](Row row) { return launched_ns_[static_cast<size_t>(row)]; };
    std::stable_sort(launches.begin(), launches.end(),
                     [&](Row a, Row b) { return launched(a) < launched(b); });
    // By queue and process: processes that share a GPU may have queues of one number.
    std::map<std::pair<uint32_t, int32_t>, Row> last;
    auto next = launches.begin();
    for (const WaitForMany& wait : of_many_) {
      const auto call = static_cast<size_t>(wait.call);
      for (; next != launches.end() && launched(*next) < trace_.apis.start_ns[call]; ++next) {
        const auto op = static_cast<size_t>(*next);
        const std::pair of(trace_.ops.queue[op], trace_.ops.process[op]);
        note_launch(*next, last.try_emplace(of, kNone).first->second);
      }
      if (wait.is_guess) {
        guess_call(call);
      } else {
        add_all(call, by_gpu_[wait.gpu]);
      }
    }
  }

  void note_launch(Row op, Row& last) {
    const auto ends_of = [&](Row row) {
      const auto of = static_cast<size_t>(row);
      return std::pair<Ends*, Ends*>(&by_gpu_[trace_.ops.gpu[of]],
                                     &by_process_[trace_.ops.process[of]]);
    };
    if (last != kNone) {
      if (end_of(op) < end_of(last)) return;
      const auto [gpu, process] = ends_of(last);
      gpu->erase({end_of(last), last});
      process->erase({end_of(last), last});
    }
    last = op;
    const auto [gpu, process] = ends_of(op);
    gpu->insert({end_of(op), op});
    process->insert({end_of(op), op});
  }

  // What had ended before the call was not awaited.
  void add_all(size_t call, const Ends& ends) {
    auto end = ends.upper_bound({trace_.apis.start_ns[call], std::numeric_limits<Row>::max()});
    for (; end != ends.end(); ++end) add_call(call, end->second);
  }

  // The file does not say: the operation that ended last while it waited, of those that its process
  // had launched. One that ended after that may have been awaited if no other was.
  void guess_call(size_t call) {
    const int32_t process = trace_.threads[trace_.apis.thread[call]].process;
    const std::pair latest(trace_.apis.end_ns[call], std::numeric_limits<Row>::max());
    Row awaited = kNone;
    std::set<int32_t> processes = {process, kNone};  // the process of some is not known
    for (const int32_t of : processes) {
      const Ends& ends = by_process_[of];
      auto end = ends.upper_bound(latest);
      if (end == ends.begin()) continue;
      --end;
      if (awaited == kNone || end->first > end_of(awaited)) awaited = end->second;
    }
    if (awaited != kNone && end_of(awaited) > trace_.apis.start_ns[call]) {
      return add_call(call, awaited);
    }
    for (const int32_t of : processes) add_all(call, by_process_[of]);
  }

  // The first operation that a thread launches after a call that makes a queue wait waits for what
  // ended last before it on another queue of its GPU.
  void guess_queues() {
    std::vector<std::vector<Row>> waits(trace_.threads.size());
    for (size_t i = 0; i < trace_.apis.size(); ++i) {
      if (is_runtime(i, is_wait_)) waits[trace_.apis.thread[i]].push_back(static_cast<Row>(i));
    }
    std::unordered_map<Row, Row> first_launch;  // operation by the wait before it
    for (size_t op = 0; op < trace_.ops.size(); ++op) {
      const Row api = trace_.ops.api[op];
      if (api == kNone) continue;
      const std::vector<Row>& list = waits[trace_.apis.thread[static_cast<size_t>(api)]];
      const auto next = std::lower_bound(list.begin(), list.end(), api);
      if (next == list.begin()) continue;
      Row& known = first_launch.try_emplace(next[-1], static_cast<Row>(op)).first->second;
      if (api < trace_.ops.api[static_cast<size_t>(known)]) known = static_cast<Row>(op);
    }
    std::vector<Row> waiters;
    for (const auto& [wait, op] : first_launch) waiters.push_back(op);
    wait_for_others(std::move(waiters));
  }

  // What ended last on a GPU, and what on another queue than that.
  struct Latest {
    Row last = kNone, on_another_queue = kNone;
  };

  // Of what ended last on the other GPUs of an operation's process, the last.
  Row last_elsewhere(size_t op, const std::unordered_map<int64_t, Latest>& latest) const {
    Row found = kNone;
    for (const auto& [gpu, of] : latest) {
      const bool is_other =
          of.last != kNone && gpu != trace_.ops.gpu[op] &&
          trace_.ops.process[static_cast<size_t>(of.last)] == trace_.ops.process[op];
      if (is_other && (found == kNone || end_of(of.last) > end_of(found))) found = of.last;
    }
    return found;
  }

  // Each of these operations waits for what ended last before it on another queue of its GPU; where
  // that is long ago, for what has just ended on another GPU of its process, as the parts of a
  // model on several GPUs do. A sweep by time keeps what ended last.
  void wait_for_others(std::vector<Row> waiters) {
    std::sort(waiters.begin(), waiters.end());  // by begin
    std::vector<Row> by_end(trace_.ops.size());
    std::iota(by_end.begin(), by_end.end(), 0);
    std::stable_sort(by_end.begin(), by_end.end(),
                     [&](Row a, Row b) { return end_of(a) < end_of(b); });
    std::unordered_map<int64_t, Latest> latest;  // by GPU
    const auto queue_of_op = [&](Row op) { return trace_.ops.queue[static_cast<size_t>(op)]; };
    auto next = by_end.begin();
    for (const Row op : waiters) {
      const auto row = static_cast<size_t>(op);
      for (; next != by_end.end() && end_of(*next) <= trace_.ops.start_ns[row]; ++next) {
        if (*next == op) continue;
        Latest& of = latest[trace_.ops.gpu[static_cast<size_t>(*next)]];
        if (of.last != kNone && queue_of_op(of.last) != queue_of_op(*next)) {
          of.on_another_queue = of.last;
        }
        of.last = *next;
      }
      const Latest& of = latest[trace_.ops.gpu[row]];
      const bool is_own = of.last != kNone && queue_of_op(of.last) == queue_of_op(op);
      Row awaited = is_own ? of.on_another_queue : of.last;
      const auto has_just_ended = [&](Row other) {
        constexpr int64_t kJustNs = 20'000;
        return other != kNone && trace_.ops.start_ns[row] - end_of(other) <= kJustNs;
      };
      if (!has_just_ended(awaited)) {
        const Row other = last_elsewhere(row, latest);
        if (has_just_ended(other)) awaited = other;
      }
      if (awaited != kNone && awaited != op) waits_.queues.push_back({op, awaited});
    }
  }

  int64_t end_of(Row op) const { return trace_.ops.end_ns[static_cast<size_t>(op)]; }

  struct WaitForMany {
    Row call = kNone;
    int64_t gpu = kNone;    // all queues of this GPU
    bool is_guess = false;  // or what the process had launched
  };
  const trace::Trace& trace_;
  const OpOrder& order_;
  const std::vector<int64_t> launched_ns_;  // by operation
  const std::vector<QueueOps> queues_;
  std::vector<bool> is_told_;                                         // by call
  std::vector<bool> is_sync_, is_wait_, frees_;                       // by name
  std::multimap<std::pair<int64_t, int64_t>, Row> by_correlation_;    // by file and number
  std::map<std::pair<int32_t, int64_t>, std::vector<Row>> recorded_;  // by process and event: what
                                                                      // was before its last record
  bool waits_are_told_ = false;
  std::vector<WaitForMany> of_many_;
  std::unordered_map<int64_t, Ends> by_gpu_;
  std::unordered_map<int32_t, Ends> by_process_;
  Waits waits_;
};

}  // namespace

bool critical_path_wants_args(std::string_view name) {
  return trace::is_record_call(name) || trace::is_sync_call(name) || trace::is_wait_call(name) ||
         name == "Stream Sync" || name == "Event Sync" || name == "Context Sync" ||
         name == "Stream Wait Event" || order_wants_args(name) || wait_lists_want_args(name);
}

Waits find_waits(const trace::Trace& trace, const OpOrder& order) {
  return WaitFinder(trace, order).find();
}

}  // namespace sonde::analysis
