#include "analysis/critical_path/graph.h"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/critical_path/words.h"
#include "analysis/time/gpu_time.h"
#include "trace/host_work.h"

namespace sonde::analysis {
namespace {

using trace::ApiKind;
using trace::Category;
using trace::kNone;
using trace::Row;

constexpr uint32_t kNoNode = ~uint32_t{0};

// When GPUs ran kernels, and when they copied: why an operation begins late that was launched long
// before, and whose own queue is free.
class OtherWork {
 public:
  explicit OtherWork(const trace::Trace& trace) : trace_(trace) {
    std::map<Key, trace::IntervalSet> busy;
    for (size_t op = 0; op < trace.ops.size(); ++op) {
      extend(busy[key_of(op)], {trace.ops.start_ns[op], trace.ops.end_ns[op]});
    }
    for (auto& [key, set] : busy) busy_.emplace(key, std::move(set));
  }

  // Whether its GPU did such work for most of the time from `from_ns` to the operation's start, and
  // that is longer than a launch usually takes.
  bool explains(size_t op, int64_t from_ns) const {
    constexpr int64_t kUsualNs = 30'000;  // as sonde idle --latency
    const int64_t start_ns = trace_.ops.start_ns[op];
    if (start_ns - from_ns < kUsualNs) return false;
    return 2 * busy_.at(key_of(op)).in({from_ns, start_ns}) >= start_ns - from_ns;
  }

 private:
  using Key = std::pair<int64_t, bool>;  // GPU, whether kernels

  Key key_of(size_t op) const {
    const Category category = trace_.ops.category[op];
    const bool moves = category == Category::kCopy || category == Category::kMemset;
    return {trace_.ops.gpu[op], !moves};
  }

  const trace::Trace& trace_;
  std::map<Key, CoveredTime> busy_;
};

class GraphBuilder {
 public:
  GraphBuilder(const trace::Trace& trace, const GraphOptions& options)
      : trace_(trace),
        options_(options),
        order_(order_of_ops(trace)),
        other_work_(trace),
        waits_(find_waits(trace, order_)),
        last_comers_(find_last_comers(trace)) {
    graph_.api_count = trace.apis.size();
    graph_.op_count = trace.ops.size();
    graph_.time_ns.resize(2 * (graph_.api_count + graph_.op_count));
    graph_.edges.reserve(graph_.time_ns.size() + graph_.time_ns.size() / 4);
    for (size_t i = 0; i < trace.apis.size(); ++i) {
      graph_.time_ns[2 * i] = trace.apis.start_ns[i];
      graph_.time_ns[2 * i + 1] = trace.apis.end_ns[i];
    }
    for (size_t i = 0; i < trace.ops.size(); ++i) {
      graph_.time_ns[graph_.begin_of_op(i)] = trace.ops.start_ns[i];
      graph_.time_ns[graph_.begin_of_op(i) + 1] = trace.ops.end_ns[i];
    }
    launches_.assign(trace.apis.size(), false);
    for (const Row api : trace.ops.api) {
      if (api != kNone) launches_[static_cast<size_t>(api)] = true;
    }
    for (const std::string& name : trace.names) {
      loads_data_.push_back(trace::is_data_loader(name));
    }
  }

  Graph build() {
    threads_.resize(trace_.threads.size());
    top_ends_.resize(trace_.processes.size() + 1);
    for (size_t i = 0; i < trace_.apis.size(); ++i) {
      if (is_host_work(i)) begin_call(i);
    }
    for (Thread& thread : threads_) {
      close_until(thread, std::numeric_limits<int64_t>::max());
    }
    hand_over();
    add_ops();
    return std::move(graph_);
  }

 private:
  struct Open {
    Row api;
    BoundBy bound;
  };
  struct Thread {
    std::vector<Open> open;
    uint32_t last = kNoNode;
  };
  struct TopBegin {
    uint32_t node = 0, before = kNoNode;  // the last node of the thread until then
    size_t process = 0;
  };

  // Python frames and markers only name time, and would make every wait in them work.
  bool is_host_work(size_t api) const {
    switch (trace_.apis.kind[api]) {
      case ApiKind::kOperator:
      case ApiKind::kRuntime:
        return true;
      case ApiKind::kMarker:
        return loads_data_[trace_.apis.label[api]] || launches_[api];
      case ApiKind::kDeviceSync:
      case ApiKind::kDeviceMarker:
        return false;
      default:
        return launches_[api];
    }
  }

  void add_edge(uint32_t from, uint32_t to, EdgeKind kind, int64_t weight_ns,
                BoundBy bound = BoundBy::kNothing, Row api = kNone) {
    if (graph_.time_ns[to] < graph_.time_ns[from]) {
      ++graph_.against_time;
      return;
    }
    if (weight_ns == 0) bound = BoundBy::kNothing;
    graph_.edges.push_back({from, to, weight_ns, kind, bound, api});
  }

  // The time since the last moment of the thread is the own time of the innermost open call.
  void step(Thread& thread, uint32_t node, bool waited) {
    if (thread.last != kNoNode) {
      int64_t& time_ns = graph_.time_ns[node];
      time_ns = std::max(time_ns, graph_.time_ns[thread.last]);  // calls that overlap half
      if (thread.open.empty()) {
        add_edge(thread.last, node, EdgeKind::kDependency, 0);
      } else {
        const Open& open = thread.open.back();
        const int64_t length_ns = time_ns - graph_.time_ns[thread.last];
        add_edge(thread.last, node, EdgeKind::kSpan, waited ? 0 : length_ns, open.bound, open.api);
      }
    }
    thread.last = node;
  }

  void close_until(Thread& thread, int64_t time_ns) {
    while (!thread.open.empty()) {
      const auto api = static_cast<size_t>(thread.open.back().api);
      if (trace_.apis.end_ns[api] > time_ns) return;
      const uint32_t end = graph_.begin_of_api(api) + 1;
      const auto wait = wait_of(waits_.calls, thread.open.back().api);
      step(thread, end, wait != waits_.calls.end());
      for (auto w = wait; w != waits_.calls.end() && w->waiter == static_cast<Row>(api); ++w) {
        add_sync(static_cast<size_t>(w->awaited), end);
      }
      thread.open.pop_back();
      if (thread.open.empty()) top_ends_[process_of(api)].push_back(end);
    }
  }

  void add_sync(size_t awaited, uint32_t end) {
    const uint32_t begin = graph_.begin_of_op(awaited);
    if (trace_.ops.end_ns[awaited] <= graph_.time_ns[end]) {
      add_edge(begin + 1, end, EdgeKind::kSync, 0);
    } else {  // the clocks differ
      add_edge(begin, end, EdgeKind::kSpan, graph_.time_ns[end] - graph_.time_ns[begin],
               bound_of_op(awaited));
    }
  }

  void begin_call(size_t api) {
    Thread& thread = threads_[trace_.apis.thread[api]];
    close_until(thread, trace_.apis.start_ns[api]);
    const uint32_t begin = graph_.begin_of_api(api);
    if (thread.open.empty()) top_begins_.push_back({begin, thread.last, process_of(api)});
    step(thread, begin, false);
    const bool loads = loads_data_[trace_.apis.label[api]] ||
                       (!thread.open.empty() && thread.open.back().bound == BoundBy::kDataLoading);
    thread.open.push_back({static_cast<Row>(api), loads ? BoundBy::kDataLoading : BoundBy::kCpu});
  }

  size_t process_of(size_t api) const {
    return static_cast<size_t>(int64_t{trace_.threads[trace_.apis.thread[api]].process} + 1);
  }

  // Which thread woke which is not recorded. A thread that was between calls may have waited for
  // the last call that ended on another one meanwhile.
  void hand_over() {
    const auto earlier = [&](uint32_t a, uint32_t b) {
      return graph_.time_ns[a] < graph_.time_ns[b];
    };
    for (std::vector<uint32_t>& ends : top_ends_)
      std::stable_sort(ends.begin(), ends.end(), earlier);
    for (const TopBegin& begin : top_begins_) {
      const std::vector<uint32_t>& ends = top_ends_[begin.process];
      const auto next = std::lower_bound(ends.begin(), ends.end(), begin.node, earlier);
      if (next == ends.begin()) continue;
      const uint32_t end = next[-1];
      if (begin.before != kNoNode && !earlier(begin.before, end)) continue;
      add_edge(end, begin.node, EdgeKind::kThread, 0);
    }
  }

  using WaitIterator = std::vector<Waits::Wait>::const_iterator;
  static WaitIterator wait_of(const std::vector<Waits::Wait>& waits, Row waiter) {
    const auto found =
        std::lower_bound(waits.begin(), waits.end(), waiter,
                         [](const Waits::Wait& wait, Row row) { return wait.waiter < row; });
    return found != waits.end() && found->waiter == waiter ? found : waits.end();
  }

  BoundBy bound_of_op(size_t op) const {
    switch (trace_.ops.category[op]) {
      case Category::kCommunication:
        return BoundBy::kGpuCommunication;
      case Category::kCopy:
      case Category::kMemset:
        return BoundBy::kGpuCopy;
      default:
        return BoundBy::kGpuCompute;
    }
  }

  void add_ops() {
    for (size_t op = 0; op < trace_.ops.size(); ++op) {
      add_span(op);
      add_start(op);
    }
  }

  // A collective in which a rank waits goes on when the last one is there.
  void add_span(size_t op) {
    const uint32_t begin = graph_.begin_of_op(op);
    const Row last = last_comers_.empty() ? kNone : last_comers_[op];
    int64_t length_ns = trace_.op_ns(op);
    if (last != kNone) {
      const auto comer = static_cast<size_t>(last);
      length_ns = trace_.ops.end_ns[op] - trace_.ops.start_ns[comer];
      add_edge(graph_.begin_of_op(comer), begin + 1, EdgeKind::kSpan, length_ns, bound_of_op(op));
    }
    add_edge(begin, begin + 1, EdgeKind::kSpan, length_ns, bound_of_op(op));
  }

  // An operation begins when the last of what it needs is there: its launch, the operation before
  // it on its queue or in its stream, the operations that its queue waits for. Queues begin an
  // operation some ns or us before they end the one before, and times are rounded: an end that
  // comes after the start counts if it is nearer to it than all that came before. Then the path
  // goes through the part of that operation until the start.
  void add_start(size_t op) {
    const uint32_t begin = graph_.begin_of_op(op);
    const int64_t start_ns = trace_.ops.start_ns[op];
    uint32_t from = kNoNode;
    EdgeKind kind = EdgeKind::kLaunch;
    const auto consider = [&](uint32_t node, EdgeKind of) {
      if (graph_.time_ns[node] > start_ns) return;
      if (from != kNoNode && graph_.time_ns[node] <= graph_.time_ns[from]) return;
      from = node;
      kind = of;
    };
    if (trace_.ops.api[op] != kNone) {
      consider(graph_.begin_of_api(static_cast<size_t>(trace_.ops.api[op])), EdgeKind::kLaunch);
    }
    const auto end_of = [&](Row row) { return graph_.begin_of_op(static_cast<size_t>(row)) + 1; };
    if (order_.after[op] != kNone) consider(end_of(order_.after[op]), EdgeKind::kKernelKernel);
    const auto waiter = static_cast<Row>(op);
    for (auto wait = wait_of(waits_.queues, waiter);
         wait != waits_.queues.end() && wait->waiter == waiter; ++wait) {
      consider(end_of(wait->awaited), EdgeKind::kSync);
    }
    const Row running = order_.running[op];
    if (running != kNone) {
      const auto before = static_cast<size_t>(running);
      const int64_t overlap_ns = trace_.ops.end_ns[before] - start_ns;
      if (trace_.ops.start_ns[before] <= start_ns &&
          (from == kNoNode || overlap_ns < start_ns - graph_.time_ns[from])) {
        add_edge(graph_.begin_of_op(before), begin, EdgeKind::kSpan,
                 start_ns - trace_.ops.start_ns[before], bound_of_op(before));
        return;
      }
    }
    if (from == kNoNode) return;
    const int64_t delay_ns = start_ns - graph_.time_ns[from];
    const bool is_delay = kind == EdgeKind::kLaunch ||
                          (kind == EdgeKind::kKernelKernel && delay_ns < options_.kernel_gap_ns);
    if (is_delay) {
      const BoundBy overhead =
          kind == EdgeKind::kLaunch ? BoundBy::kKernelLaunch : BoundBy::kKernelKernel;
      const bool is_busy = other_work_.explains(op, graph_.time_ns[from]);
      add_edge(from, begin, kind, delay_ns, is_busy ? BoundBy::kGpuOtherWork : overhead);
    } else {
      add_edge(from, begin, kind == EdgeKind::kSync ? kind : EdgeKind::kDependency, 0);
    }
  }

  const trace::Trace& trace_;
  const GraphOptions options_;
  const OpOrder order_;
  const OtherWork other_work_;
  const Waits waits_;
  const std::vector<Row> last_comers_;
  std::vector<bool> launches_;    // by call
  std::vector<bool> loads_data_;  // by name
  std::vector<Thread> threads_;
  std::vector<TopBegin> top_begins_;
  std::vector<std::vector<uint32_t>> top_ends_;  // by process: ends of calls that lie in no other
  Graph graph_;
};

}  // namespace

const char* edge_kind_name(EdgeKind kind) {
  constexpr const char* kNames[kEdgeKinds] = {"span",         "dependency",          "thread",
                                              "launch delay", "kernel-kernel delay", "sync"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

struct BoundByText {
  const char* name;
  const char* words;
};
constexpr BoundByText kBoundByTexts[kBoundBy] = {
    {"cpu", "CPU"},
    {"data_loading", "data loading"},
    {"gpu_compute", "GPU kernels"},
    {"gpu_communication", "GPU communication"},
    {"gpu_copy", "GPU copies"},
    {"kernel_launch_overhead", "launch overhead"},
    {"kernel_kernel_overhead", "gaps between kernels"},
    {"gpu_other_work", "other work on the GPU"},
    {"nothing", "nothing"},
};

}  // namespace

const char* bound_by_name(BoundBy bound) { return kBoundByTexts[static_cast<size_t>(bound)].name; }

std::optional<BoundBy> bound_by_of(std::string_view text) {
  for (size_t i = 0; i < kBoundBy; ++i) {
    const BoundByText& known = kBoundByTexts[i];
    if (text == known.name || text == known.words) return static_cast<BoundBy>(i);
  }
  return std::nullopt;
}

void put_words_for_keys(report::Report& report) {
  for (report::Section& section : report.sections) {
    const int column = report::find_column(section.table, "bound_by");
    if (column < 0) continue;
    for (auto& row : section.table.rows) {
      auto* const key = std::get_if<std::string>(&row[static_cast<size_t>(column)]);
      const auto bound = key == nullptr ? std::nullopt : bound_by_of(*key);
      if (bound) *key = kBoundByTexts[static_cast<size_t>(*bound)].words;
    }
  }
}

Moment Graph::moment_of(uint32_t node) const {
  const bool is_op = node >= 2 * api_count;
  const size_t event = node / 2 - (is_op ? api_count : 0);
  return {static_cast<Row>(event), is_op, node % 2 == 1};
}

Graph build_graph(const trace::Trace& trace, const GraphOptions& options) {
  return GraphBuilder(trace, options).build();
}

}  // namespace sonde::analysis
