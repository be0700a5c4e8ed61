// The graph of what waited for what, and the longest path through it. Used by the analysis
// critical-path; the edges of a path say enough for an exporter to draw it as arrows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/launches/op_order.h"
#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

enum class EdgeKind : uint8_t {
  kSpan,          // time in a call or operation, from one moment of it to the next; of an operation
                  // also to what waited for its end and went on a little before it
  kDependency,    // the next call of a thread, or the next operation of a queue; unexplained time
  kThread,        // a thread that was between calls goes on after a call of another thread
  kLaunch,        // from the start of a launching call to the start of its operation
  kKernelKernel,  // from the end of an operation to the start of the next on its queue or stream
  kSync,          // from the end of an operation to what waited for it
};
constexpr size_t kEdgeKinds = 6;
const char* edge_kind_name(EdgeKind kind);

enum class BoundBy : uint8_t {
  kCpu,
  kDataLoading,
  kGpuCompute,
  kGpuCommunication,
  kGpuCopy,
  kKernelLaunch,
  kKernelKernel,
  kGpuOtherWork,  // a delay in which the GPU was busy with other queues or processes
  kNothing,       // of edges without weight
};
constexpr size_t kBoundBy = 9;
const char* bound_by_name(BoundBy bound);                   // "gpu_compute"
std::optional<BoundBy> bound_by_of(std::string_view text);  // of the name or the words

// A begin or end of a call or operation.
struct Moment {
  trace::Row row = trace::kNone;
  bool is_op = false;
  bool is_end = false;
};

struct Edge {
  uint32_t from = 0, to = 0;  // nodes
  int64_t weight_ns = 0;
  EdgeKind kind = EdgeKind::kSpan;
  BoundBy bound = BoundBy::kNothing;
  trace::Row api = trace::kNone;  // kSpan of a call: whose own time it is
};

struct Graph {
  size_t api_count = 0, op_count = 0;
  std::vector<int64_t> time_ns;  // by node; 2 of each call, then 2 of each operation
  std::vector<Edge> edges;
  uint64_t against_time = 0;  // edges left out: what they lead to was before what they come from

  uint32_t begin_of_api(size_t api) const { return static_cast<uint32_t>(2 * api); }
  uint32_t begin_of_op(size_t op) const { return static_cast<uint32_t>(2 * (api_count + op)); }
  Moment moment_of(uint32_t node) const;
};

// What waited for which operations (waits.cpp).
struct Waits {
  struct Wait {
    trace::Row waiter = trace::kNone;   // a call for syncs, an operation for waits of queues
    trace::Row awaited = trace::kNone;  // an operation
  };
  std::vector<Wait> calls;   // by waiter; only those that really waited, until they returned
  std::vector<Wait> queues;  // by waiter
};
// What OpenCL's calls name as what they wait for: operations by the calls that launched them, and
// clWaitForEvents (wait_lists.cpp).
struct WaitLists {
  std::vector<Waits::Wait> calls;
  std::vector<Waits::Wait> operations;
};
bool wait_lists_want_args(std::string_view name);
WaitLists read_wait_lists(const trace::Trace& trace);

// By operation: where it is a collective, the operation of the rank that came last to it, if it
// waited for that; kNone elsewhere. Empty if there is none (collective_waits.cpp).
std::vector<trace::Row> find_last_comers(const trace::Trace& trace);

bool critical_path_wants_args(std::string_view name);
Waits find_waits(const trace::Trace& trace, const OpOrder& order);

struct GraphOptions {
  int64_t kernel_gap_ns = 1'500'000;
};
// Needs ops, links, and the arguments that critical_path_wants_args() names. n log n.
Graph build_graph(const trace::Trace& trace, const GraphOptions& options);

struct LongestPath {
  std::vector<size_t> edges;       // of Graph::edges, in order; empty for an empty graph
  std::vector<int64_t> before_ns;  // by node: the longest path that ends here
  int64_t length_ns = 0;
  uint64_t unordered = 0;  // nodes of circles, which only wrong times can make
};
// The longest path; of equally long ones the one that ends last, and of equal ways to a node the
// latest edge.
LongestPath longest_path(const Graph& graph);
// By node: the longest path that begins there.
std::vector<int64_t> longest_after(const Graph& graph);

// The parts of the path that take time, in order: what an exporter draws.
struct Step {
  int64_t start_ns = 0, end_ns = 0, weight_ns = 0;
  EdgeKind kind = EdgeKind::kSpan;
  BoundBy bound = BoundBy::kNothing;
  std::string name;   // of the call or operation whose time it is, or to which it leads
  std::string place;  // "GPU 0, queue 7", "thread 12 of process 10"
  Moment event;       // whose name it is
};
// `trace` must be loaded with what the analysis critical-path needs.
std::vector<Step> critical_path_steps(const trace::Trace& trace);

// What the path would be if some of its edges were shorter: `setting` is NAME=PERCENT, where NAME
// is a bound_by_name() or a regular expression over names of calls and operations. Exact for the
// graph: the longest path is found again (what_if.cpp).
Result<report::Section> what_if_section(const trace::Trace& trace, const Graph& graph,
                                        const LongestPath& path, const std::string& setting);

}  // namespace sonde::analysis
