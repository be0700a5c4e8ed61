// The critical path of real traces: figures worked out by hand, and each edge told by their rows.

#include "analysis/analysis_test_support.h"
#include "analysis/critical_path/graph.h"
#include "base/test_support.h"
#include "trace/other_tools.h"

namespace sonde::analysis {
namespace {

constexpr int64_t kUs = 1000;

Lines bounds_of(const report::Report& report) {
  return lines_of(report, "bound_by", {"bound_by", "time_ns"});
}

trace::Trace real_trace(const std::string& name) {
  const std::string path = test::real_file(name);
  if (path.empty()) return {};
  const Analysis* analysis = find_analysis("critical-path");
  return value_of(trace::load_file(path, "", analysis->needs(parameters_of(*analysis, {})), {}));
}

#define LOAD_OR_SKIP(trace, name)              \
  const trace::Trace trace = real_trace(name); \
  if (trace.path.empty()) GTEST_SKIP() << "no " << name

report::Report summary(const trace::Trace& trace) { return *run_analysis("critical-path", trace); }

// One thread. In us since 17074175255... : ones 9905-12150 (2245), sum 12159-12198 (39), gt
// 12205-12238 (33), is_nonzero 12245-12292 (47; its copy ended at 12272, before the wait in it
// began at 12282), EventRecord 12352-12355 (3), launch 12362, its kernel 12372-12408 (delay 10,
// span 36), which EventSynchronize 12382-12416 waits for (on the thread only 9 + 3 follow the start
// of the launch until then), EventQuery 3, EventElapsedTime 4, DeviceSynchronize 8, which waits for
// nothing.
TEST(CriticalPath, EventSyncByHand) {
  LOAD_OR_SKIP(trace, "kineto/event_sync.json.gz");
  const report::Report report = summary(trace);
  EXPECT_EQ(bounds_of(report),
            (Lines{fmt::format("cpu|{}", (2245 + 39 + 33 + 47 + 3 + 3 + 4 + 8) * kUs),
                   fmt::format("gpu_compute|{}", 36 * kUs),
                   fmt::format("kernel_launch_overhead|{}", 10 * kUs)}));
  const report::Section& section = section_of(report, "bound_by");
  EXPECT_EQ(fact_of(section, "length_ns"), std::to_string(2428 * kUs));
  EXPECT_EQ(fact_of(section, "elapsed_ns"), std::to_string((12482 - 9905) * kUs));
}

// matmul 476 and 292, EventRecord 6, StreamWaitEvent 3, matmul 67756-68063, in which the launch
// begins at 68035 (279 after it); its kernel on stream 24 runs 68050-68173 (delay 15, as the memset
// before it ended at 68035; the awaited kernel of stream 20 ended long before), which
// DeviceSynchronize 68166-68186 waits for. On the thread only 28 follow the start of the launch.
TEST(CriticalPath, EventSyncMultiStreamByHand) {
  LOAD_OR_SKIP(trace, "kineto/event_sync_multi_stream.json.gz");
  const report::Report report = summary(trace);
  EXPECT_EQ(bounds_of(report), (Lines{fmt::format("cpu|{}", (476 + 292 + 6 + 3 + 279) * kUs),
                                      fmt::format("gpu_compute|{}", 123 * kUs),
                                      fmt::format("kernel_launch_overhead|{}", 15 * kUs)}));
  const report::Section& section = section_of(report, "bound_by");
  EXPECT_EQ(fact_of(section, "length_ns"), std::to_string(1194 * kUs));
  EXPECT_EQ(fact_of(section, "elapsed_ns"), std::to_string((68186 - 48256) * kUs));
}

// A call that waits, or one that made the copy itself and spent most of its time until that ended.
bool waits_by_name_or_time(const trace::Trace& trace, size_t op, size_t api) {
  const std::string& name = trace.names[trace.apis.name[api]];
  if (trace::is_sync_call(name)) return true;
  if (trace.ops.api[op] != static_cast<trace::Row>(api)) return false;
  return name.find("Memcpy") != name.npos && trace.apis.end_ns[api] - trace.ops.end_ns[op] <
                                                 trace.ops.end_ns[op] - trace.apis.start_ns[api];
}

// Each edge of the path follows from rows of the trace, told here without the graph.
struct Explanation {
  const trace::Trace& trace;
  const Graph& graph;
  size_t launches = 0, syncs = 0;

  void edge(const Edge& edge) {
    const int64_t elapsed_ns = graph.time_ns[edge.to] - graph.time_ns[edge.from];
    ASSERT_GE(elapsed_ns, edge.weight_ns);
    const Moment from = graph.moment_of(edge.from), to = graph.moment_of(edge.to);
    const auto from_row = static_cast<size_t>(from.row), to_row = static_cast<size_t>(to.row);
    switch (edge.kind) {
      case EdgeKind::kSpan:
        if (from.is_op) {
          ASSERT_EQ(edge.weight_ns, elapsed_ns);
          span_of_op(from, to);
        } else {  // within the call whose own time it is, and on its thread
          ASSERT_FALSE(to.is_op);
          const auto api = static_cast<size_t>(edge.api);
          ASSERT_EQ(trace.apis.thread[from_row], trace.apis.thread[api]);
          ASSERT_GE(graph.time_ns[edge.from], trace.apis.start_ns[api]);
          ASSERT_LE(graph.time_ns[edge.to], trace.apis.end_ns[api]);
        }
        break;
      case EdgeKind::kLaunch:
        ASSERT_EQ(edge.weight_ns, elapsed_ns);
        launch(from_row, to_row);
        break;
      case EdgeKind::kKernelKernel:
        ASSERT_EQ(trace.ops.queue[from_row], trace.ops.queue[to_row]);
        ASSERT_LT(elapsed_ns, 1500 * kUs);
        if (trace.ops.api[to_row] != trace::kNone) {
          const auto api = static_cast<size_t>(trace.ops.api[to_row]);
          ASSERT_LT(trace.apis.start_ns[api], trace.ops.end_ns[from_row]);
        }
        break;
      case EdgeKind::kSync:
        ++syncs;
        ASSERT_TRUE(from.is_op && from.is_end);
        ASSERT_EQ(edge.weight_ns, 0);
        if (!to.is_op) {
          ASSERT_TRUE(waits_by_name_or_time(trace, from_row, to_row));
          ASSERT_LT(trace.apis.start_ns[to_row], trace.ops.end_ns[from_row]);
        }
        break;
      case EdgeKind::kDependency:
      case EdgeKind::kThread:
        ASSERT_EQ(edge.weight_ns, 0);
        break;
    }
  }

  void span_of_op(const Moment& from, const Moment& to) {
    const auto from_row = static_cast<size_t>(from.row), to_row = static_cast<size_t>(to.row);
    ASSERT_FALSE(from.is_end);
    if (!to.is_op) {  // ended after the call by less than the call lasted
      ++syncs;
      ASSERT_TRUE(to.is_end);
      ASSERT_TRUE(waits_by_name_or_time(trace, from_row, to_row));
      const int64_t late_ns = trace.ops.end_ns[from_row] - trace.apis.end_ns[to_row];
      ASSERT_GT(late_ns, 0);
      ASSERT_LT(late_ns, trace.api_ns(to_row));
    } else if (from.row == to.row) {
      ASSERT_TRUE(to.is_end);
    } else {  // its queue began the next before its end, and not when that was launched
      ASSERT_FALSE(to.is_end);
      ASSERT_EQ(trace.ops.queue[from_row], trace.ops.queue[to_row]);
      const int64_t overlap_ns = trace.ops.end_ns[from_row] - trace.ops.start_ns[to_row];
      ASSERT_GT(overlap_ns, 0);
      const auto api = static_cast<size_t>(trace.ops.api[to_row]);
      ASSERT_LT(overlap_ns, trace.ops.start_ns[to_row] - trace.apis.start_ns[api]);
    }
  }

  void launch(size_t api, size_t launched) {
    ++launches;
    ASSERT_EQ(trace.ops.api[launched], static_cast<trace::Row>(api));
    for (size_t op = 0; op < launched; ++op) {  // nothing that was before it in the queue
      if (trace.ops.queue[op] != trace.ops.queue[launched]) continue;
      ASSERT_FALSE(trace.ops.end_ns[op] > trace.apis.start_ns[api] &&
                   trace.ops.end_ns[op] < trace.ops.end_ns[launched])
          << "op " << op << " before op " << launched;
    }
  }
};

class Explained : public testing::TestWithParam<const char*> {};

TEST_P(Explained, EdgeByEdge) {
  LOAD_OR_SKIP(trace, GetParam());
  const Graph graph = build_graph(trace, {});
  const LongestPath path = longest_path(graph);
  ASSERT_GT(path.edges.size(), 100u);
  EXPECT_EQ(path.unordered, 0u);
  Explanation explanation{trace, graph};
  int64_t length_ns = 0;
  for (size_t i = 0; i < path.edges.size(); ++i) {
    const Edge& edge = graph.edges[path.edges[i]];
    if (i != 0) {
      ASSERT_EQ(edge.from, graph.edges[path.edges[i - 1]].to) << "the path has a hole";
    }
    length_ns += edge.weight_ns;
    ASSERT_NO_FATAL_FAILURE(explanation.edge(edge));
  }
  EXPECT_EQ(length_ns, path.length_ns);
  EXPECT_GT(explanation.launches, 0u);
  EXPECT_GT(explanation.syncs, 0u);
}

INSTANTIATE_TEST_SUITE_P(CriticalPath, Explained,
                         testing::Values("kineto/simple_add_critical_path.json.gz",
                                         "kineto/v100_alexnet_critical_path.json.gz",
                                         "kineto/diff_test.json.gz",
                                         "kineto/mi300_qwen_0.5b.json.gz", "rpd/mytrace.rpd.gz"));

}  // namespace
}  // namespace sonde::analysis
