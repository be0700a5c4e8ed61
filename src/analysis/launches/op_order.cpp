#include "analysis/launches/op_order.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "analysis/arguments.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using trace::kNone;
using trace::Row;
using Line = OpOrder::Line;

// What began on a queue until a moment: what of it had ended last, and what ends next.
class QueueState {
 public:
  void advance(int64_t time_ns) {
    for (; !running_.empty() && running_.top().first <= time_ns; running_.pop()) {
      ended_last_ = running_.top().second;
    }
  }
  void begin(int64_t end_ns, Row op) { running_.push({end_ns, op}); }
  Row ended_last() const { return ended_last_; }
  Row ends_next() const { return running_.empty() ? kNone : running_.top().second; }

 private:
  using End = std::pair<int64_t, Row>;
  std::priority_queue<End, std::vector<End>, std::greater<>> running_;
  Row ended_last_ = kNone;
};

constexpr int64_t kLegacy = 1, kPerThread = 2;  // special handles of both runtimes
constexpr int64_t kFirstPage = 4096;            // no handle is an address below

bool makes_stream(std::string_view name) {
  return starts_with_any(name, {"hipStreamCreate", "cudaStreamCreate", "cuStreamCreate"});
}

// The runtimes in which a program orders its work by streams; elsewhere that is by queues.
bool has_streams(std::string_view name) { return starts_with_any(name, {"hip", "cuda", "cu"}); }

// Variants of calls in which no stream is the thread's own, not the null stream.
bool is_per_thread(std::string_view name) {
  return name.ends_with("_spt") || name.ends_with("_ptsz") || name.ends_with("_ptds");
}

// How many operations of a line were launched before a call.
size_t launched_before(const trace::Trace& trace, const Line& line, Row call) {
  const auto next = std::partition_point(line.ops.begin(), line.ops.end(), [&](Row op) {
    return trace.ops.api[static_cast<size_t>(op)] < call;
  });
  return static_cast<size_t>(next - line.ops.begin());
}

class OrderFinder {
 public:
  explicit OrderFinder(const trace::Trace& trace) : trace_(trace) {
    order_.stream.assign(trace.ops.size(), OpOrder::kUnknown);
    order_.after.assign(trace.ops.size(), kNone);
    order_.running.assign(trace.ops.size(), kNone);
  }

  OpOrder find() {
    if (!trace_.apis.stream.empty()) {
      find_numbered();
      find_streams();
    }
    find_after();
    return std::move(order_);
  }

 private:
  size_t call_of(Row op) const {
    return static_cast<size_t>(trace_.ops.api[static_cast<size_t>(op)]);
  }
  int32_t process_of(size_t call) const { return trace_.threads[trace_.apis.thread[call]].process; }
  int64_t end_of(Row op) const { return trace_.ops.end_ns[static_cast<size_t>(op)]; }
  const std::string& args_of(size_t call) const {
    static const std::string kNothing;
    return trace_.apis.args.empty() ? kNothing : trace_.texts[trace_.apis.args[call]];
  }

  // Handles are addresses, except those of HIP's and CUDA's special streams; the files of rocprofv3
  // and rocpd count streams instead, and have a 1 and a 2 that mean nothing else.
  void find_numbered() {
    struct Seen {
      bool address = false, number = false, one = false, two = false;
    };
    std::map<int32_t, Seen> seen;
    for (size_t call = 0; call < trace_.apis.stream.size(); ++call) {
      const int64_t handle = trace_.apis.stream[call];
      if (handle == trace::kNoStream) continue;
      Seen& process = seen[process_of(call)];
      process.one |= handle == kLegacy;
      process.two |= handle == kPerThread;
      process.number |= handle > kPerThread && handle < kFirstPage;
      process.address |= handle >= kFirstPage || handle < 0;
    }
    for (const auto& [process, one] : seen) {
      const bool counts = one.number || (one.one && one.two && !one.address);
      if (counts) order_.numbered.insert(process);
    }
  }

  // By launch: of the operations of one call by their start.
  void find_streams() {
    std::vector<std::pair<Row, Row>> launches;  // call and operation
    for (size_t op = 0; op < trace_.ops.size(); ++op) {
      const Row api = trace_.ops.api[op];
      if (api != kNone) launches.push_back({api, static_cast<Row>(op)});
    }
    std::sort(launches.begin(), launches.end());
    std::vector<bool> makes, has;
    for (const std::string& name : trace_.names) {
      makes.push_back(makes_stream(name));
      has.push_back(has_streams(name));
    }
    auto launch = launches.begin();
    for (size_t call = 0; call < trace_.apis.size(); ++call) {
      if (makes[trace_.apis.name[call]]) note_made(call);
      for (; launch != launches.end() && launch->first == static_cast<Row>(call); ++launch) {
        if (has[trace_.apis.name[call]]) place(call, launch->second);
      }
    }
  }

  // A handle may be given to a new stream when the one that had it is gone.
  void note_made(size_t call) {
    const auto handle = handle_argument(args_of(call), "stream");
    if (!handle) return;
    const std::pair key(process_of(call), *handle);
    joins_[key] = (integer_argument(args_of(call), "flags").value_or(0) & 1) == 0;
    current_.erase({key.first, kNone, key.second});
  }

  void place(size_t call, Row op) {
    int64_t handle = trace_.apis.stream[call];
    if (handle == trace::kNoStream) {
      const auto told = handle_argument(args_of(call), "stream");
      if (!told) return;
      handle = *told;
    }
    const int32_t process = process_of(call);
    handle = order_.handle_of(trace_, call, handle);
    const int64_t gpu = trace_.ops.gpu[static_cast<size_t>(op)];
    const auto [entry, is_new] =
        current_.try_emplace({process, handle == 0 ? gpu : kNone, handle}, order_.streams.size());
    if (is_new) {
      const auto joins = joins_.find({process, handle});
      const bool is_known = joins != joins_.end();
      order_.streams.push_back(
          {process, handle == 0 ? gpu : kNone, handle, handle <= 0 || (is_known && joins->second)});
      order_.lines.emplace_back();
      order_.of_handle[{process, handle}].push_back(entry->second);
    }
    const size_t stream = entry->second;
    order_.stream[static_cast<size_t>(op)] = static_cast<uint32_t>(stream);
    append(order_.lines[stream], op);
    if (order_.streams[stream].joins_null) append(order_.joint[{process, gpu}], op);
  }

  void append(Line& line, Row op) const {
    const bool is_last = line.ops.empty() || end_of(op) >= end_of(line.latest.back());
    line.ops.push_back(op);
    line.latest.push_back(is_last ? op : line.latest.back());
  }

  void find_after() {
    std::vector<QueueState> queues(trace_.queues.size());
    for (size_t op = 0; op < trace_.ops.size(); ++op) {
      QueueState& queue = queues[trace_.ops.queue[op]];
      queue.advance(trace_.ops.start_ns[op]);
      consider(op, queue.ended_last());
      consider(op, queue.ends_next());
      if (order_.stream[op] != OpOrder::kUnknown) consider_stream(op);
      queue.begin(trace_.ops.end_ns[op], static_cast<Row>(op));
    }
  }

  void consider(size_t op, Row before) {
    if (before == kNone) return;
    if (end_of(before) > trace_.ops.start_ns[op]) {
      Row& running = order_.running[op];
      if (running == kNone || end_of(before) < end_of(running)) running = before;
    } else {
      Row& after = order_.after[op];
      if (after == kNone || end_of(before) > end_of(after)) after = before;
    }
  }

  // Operations of one call do not wait for each other: a graph may have branches.
  void consider_stream(size_t op) {
    const size_t number = order_.stream[op];
    const Stream& stream = order_.streams[number];
    const Row call = trace_.ops.api[op];
    consider(op, last_of(order_.lines[number], call));
    if (!stream.joins_null) return;
    if (stream.handle == 0) return consider(op, last_of(joint_of(stream.process, op), call));
    const auto null = current_.find({stream.process, trace_.ops.gpu[op], 0});
    if (null != current_.end()) consider(op, last_of(order_.lines[null->second], call));
  }

  const Line& joint_of(int32_t process, size_t op) const {
    return order_.joint.at({process, trace_.ops.gpu[op]});
  }

  Row last_of(const Line& line, Row call) const {
    const size_t count = launched_before(trace_, line, call);
    return count == 0 ? kNone : line.latest[count - 1];
  }

  const trace::Trace& trace_;
  std::map<std::tuple<int32_t, int64_t, int64_t>, size_t> current_;  // process, GPU, handle
  std::map<std::pair<int32_t, int64_t>, bool> joins_;  // of streams whose making is in the file
  OpOrder order_;
};

}  // namespace

int64_t OpOrder::handle_of(const trace::Trace& trace, size_t call, int64_t named) const {
  const uint32_t thread = trace.apis.thread[call];
  if (numbered.contains(trace.threads[thread].process)) return named;
  if (named == kLegacy) return 0;
  const bool is_own =
      named == kPerThread || (named == 0 && is_per_thread(trace.names[trace.apis.name[call]]));
  return is_own ? -1 - int64_t{thread} : named;
}

std::vector<Row> OpOrder::last_before(const trace::Trace& trace, int32_t process, int64_t handle,
                                      Row call) const {
  std::vector<Row> found;
  const auto add = [&](const Line& line) {
    const size_t count = launched_before(trace, line, call);
    if (count != 0) found.push_back(line.latest[count - 1]);
  };
  if (handle == 0) {
    for (auto line = joint.lower_bound({process, std::numeric_limits<int64_t>::min()});
         line != joint.end() && line->first.first == process; ++line) {
      add(line->second);
    }
    return found;
  }
  const auto streams_of = of_handle.find({process, handle});
  if (streams_of == of_handle.end()) return found;
  for (auto of = streams_of->second.rbegin(); of != streams_of->second.rend(); ++of) {
    add(lines[*of]);
    if (!found.empty()) break;  // those before it had the same handle and are gone
  }
  return found;
}

Row OpOrder::first_from(const trace::Trace& trace, int32_t process, int64_t handle,
                        Row call) const {
  const auto streams_of = of_handle.find({process, handle});
  if (streams_of == of_handle.end()) return kNone;
  Row first = kNone;
  for (const size_t number : streams_of->second) {
    const Line& line = lines[number];
    const size_t next = launched_before(trace, line, call);
    if (next == line.ops.size()) continue;
    const Row op = line.ops[next];
    if (first == kNone ||
        trace.ops.api[static_cast<size_t>(op)] < trace.ops.api[static_cast<size_t>(first)]) {
      first = op;
    }
  }
  return first;
}

bool order_wants_args(std::string_view name) {
  return makes_stream(name) || name == "hipGraphLaunch" || name == "hipGraphLaunch_spt";
}

trace::Request launch_needs() {
  return {.ops = true,
          .links = true,
          .streams = true,
          .whole = true,
          .args_of = trace::bit_of(trace::ApiKind::kRuntime),
          .args_named = order_wants_args};
}

OpOrder order_of_ops(const trace::Trace& trace) { return OrderFinder(trace).find(); }

}  // namespace sonde::analysis
