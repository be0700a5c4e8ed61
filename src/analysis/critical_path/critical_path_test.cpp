// The rules of the graph of the critical path one by one, on traces written down here.

#include "analysis/analysis_test_support.h"

#include <algorithm>
#include "analysis/arguments.h"
#include "analysis/critical_path/graph.h"

namespace sonde::analysis {
namespace {

constexpr int64_t kUs = 1000;

Lines bounds_of(const report::Report& report) {
  return lines_of(report, "bound_by", {"bound_by", "time_ns"});
}

Lines edges_of(const trace::TraceBuilder& rows, uint32_t seed = 0) {
  return lines_of(ask("critical-path", rows, {{"show", "edges"}}, seed), "edges",
                  {"kind", "from", "to", "time_ns"});
}

ApiRow runtime(const char* name, int64_t start_ns, int64_t end_ns, int64_t tid = 1,
               const char* args = "") {
  return ApiRow{"cuda_runtime", name, start_ns, end_ns, tid, 1, "", args};
}

ApiRow hip(const char* name, int64_t start_ns, int64_t end_ns, const char* args,
           int64_t stream = trace::kNoStream) {
  return ApiRow{"", name, start_ns, end_ns, 1, 1, "hip", args, stream};
}

// A launch into an idle queue, a kernel that waits for it, and the call that waits for both.
TEST(CriticalPath, LaunchQueueAndSynchronisation) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cpu_op", "aten::mm", 0, 40});
  rows.add(runtime("hipLaunchKernel", 10, 20), OpRow{"k1", 22, 100});
  rows.add(runtime("hipLaunchKernel", 25, 35), OpRow{"k2", 105, 205});
  rows.add(runtime("hipDeviceSynchronize", 50, 230));
  for (const uint32_t seed : {0u, 1u, 2u}) {
    EXPECT_EQ(
        edges_of(rows, seed),
        (Lines{"span|start of aten::mm|start of hipLaunchKernel|10",
               "launch delay|start of hipLaunchKernel|start of k1|12",
               "span|start of k1|end of k1|78", "kernel-kernel delay|end of k1|start of k2|5",
               "span|start of k2|end of k2|100", "sync|end of k2|end of hipDeviceSynchronize|0"}));
  }
  const report::Report report = ask("critical-path", rows);
  EXPECT_EQ(bounds_of(report), (Lines{"gpu_compute|178", "kernel_launch_overhead|12", "cpu|10",
                                      "kernel_kernel_overhead|5"}));
  const report::Section& section = section_of(report, "bound_by");
  EXPECT_EQ(fact_of(section, "length_ns"), "205");
  EXPECT_EQ(fact_of(section, "elapsed_ns"), "230");
  EXPECT_EQ(fact_of(section, "unexplained_ns"), "25");  // until the call returned
  EXPECT_TRUE(section.remarks.empty());
}

// The host launches 10 ns of work after each 190 ns of something that was not recorded.
TEST(CriticalPath, SaysThatMostIsUnexplained) {
  trace::TraceBuilder rows;
  for (int64_t at = 0; at < 1000; at += 200) {
    rows.add(runtime("hipLaunchKernel", at, at + 2), OpRow{"k", at + 4, at + 10});
  }
  const report::Report report = ask("critical-path", rows);
  const auto& remarks = section_of(report, "bound_by").remarks;
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_TRUE(has(remarks[0], "is unexplained"));
}

// k0 and k1 were launched before the recording, and the call waits for both. By its clock the
// device ends k1 7 ns after the call that waited for it.
TEST(CriticalPath, WorkThatWasLaunchedBeforeTheRecording) {
  const auto edges = [](int64_t end_ns) {
    trace::TraceBuilder rows;
    rows.add(runtime("hipDeviceSynchronize", 5, 105));
    rows.add(runtime("hipLaunchKernel", 120, 125), OpRow{"k2", 130, 170});
    rows.add(OpRow{"k0", 0, 50});
    rows.add(OpRow{"k1", 50, end_ns});
    return edges_of(rows);
  };
  Lines expected = {"span|start of k0|end of k0|50",
                    "kernel-kernel delay|end of k0|start of k1|0",
                    "",
                    "",
                    "dependency|end of hipDeviceSynchronize|start of hipLaunchKernel|0",
                    "launch delay|start of hipLaunchKernel|start of k2|10",
                    "span|start of k2|end of k2|40"};
  expected[2] = "span|start of k1|end of k1|50";
  expected[3] = "sync|end of k1|end of hipDeviceSynchronize|0";
  EXPECT_EQ(edges(100), expected);
  expected[2] = "span|start of k1|end of hipDeviceSynchronize|55";
  expected.erase(expected.begin() + 3);
  EXPECT_EQ(edges(112), expected);
}

// k1, much longer than the call, is not what it waited for.
TEST(CriticalPath, ACallThatReturnsWhileTheQueueRuns) {
  trace::TraceBuilder rows;
  rows.add(runtime("hipLaunchKernel", 0, 10), OpRow{"k1", 12, 100});
  rows.add(runtime("hipStreamSynchronize", 20, 25));
  const trace::Trace trace = rows.build(0, find_analysis("critical-path")->needs({}));
  EXPECT_TRUE(find_waits(trace, order_of_ops(trace)).calls.empty());
}

// The queue begins k2 2 ns before it ends k1, for which k2 had waited since 20: the time until then
// is that of k1, not of the launch. k3 begins as k2 ends, rounded.
TEST(CriticalPath, TheNextOfAQueueBeginsBeforeTheEnd) {
  trace::TraceBuilder rows;
  rows.add(runtime("hipLaunchKernel", 0, 10), OpRow{"k1", 15, 1000});
  rows.add(runtime("hipLaunchKernel", 20, 30), OpRow{"k2", 998, 1100});
  rows.add(runtime("hipLaunchKernel", 40, 50), OpRow{"k3", 1100, 1120});
  EXPECT_EQ(
      edges_of(rows),
      (Lines{"launch delay|start of hipLaunchKernel|start of k1|15",
             "span|start of k1|start of k2|983", "span|start of k2|end of k2|102",
             "kernel-kernel delay|end of k2|start of k3|0", "span|start of k3|end of k3|20"}));
  const report::Report report = ask("critical-path", rows);
  EXPECT_EQ(lines_of(report, "names", {"name", "time_ns"}),
            (Lines{"k1|983", "k2|102", "k3|20", "k1|15"}));
  const auto then = ask("critical-path", rows, {{"what-if", "^k1$=100"}});
  EXPECT_EQ(fact_of(section_of(then, "what_if"), "changed_edges"), "2");
}

// What runs beside another operation for longer than its launch took did not wait for its end.
TEST(CriticalPath, AnOperationBesideAnotherOfItsQueue) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cpu_op", "prepare", 12, 500});
  rows.add(runtime("hipLaunchKernel", 0, 10), OpRow{"k1", 10, 1000});
  rows.add(runtime("hipLaunchKernel", 500, 505), OpRow{"k2", 510, 2000});
  EXPECT_EQ(bounds_of(ask("critical-path", rows)),
            (Lines{"gpu_compute|1490", "cpu|498", "kernel_launch_overhead|10"}));
}

// A call that waits for nothing is work of the CPU.
TEST(CriticalPath, ASynchronisationThatDoesNotWait) {
  trace::TraceBuilder rows;
  rows.add(runtime("cudaLaunchKernel", 0, 10), OpRow{"k", 12, 20});
  rows.add(runtime("cudaDeviceSynchronize", 100, 130));
  EXPECT_EQ(bounds_of(ask("critical-path", rows)), (Lines{"cpu|40"}));
}

// k1 and k2 run one after the other on one queue, 100 and 80 ns, and k3 beside them on another,
// from the same moment on and for 150 ns. Without half of k1 the path is 50 + 80 = 130 long; but
// now k3 bounds it, with 150. Without k2 and k1 nothing but k3 counts.
TEST(CriticalPath, WhatIfFindsWhatBoundsInstead) {
  trace::TraceBuilder rows;
  rows.add(runtime("hipGraphLaunch", 0, 10), OpRow{"k1", 10, 110, 0, 1},
           OpRow{"k2", 110, 190, 0, 1}, OpRow{"k3", 10, 160, 0, 2});
  const auto then = [&](const char* setting) {
    const auto report = ask("critical-path", rows, {{"what-if", setting}});
    const report::Section& section = section_of(report, "what_if");
    return fact_of(section, "length_then_ns") + " " + fact_of(section, "saved_ns") + " " +
           fact_of(section, "changed_edges");
  };
  EXPECT_EQ(then("^k1$=10"), "180 10 1");
  EXPECT_EQ(then("^k1$=50%"), "160 30 1");
  EXPECT_EQ(then("^k[12]$=100"), "160 30 2");
  EXPECT_EQ(then("gpu_compute=50"), "100 90 3");
  EXPECT_EQ(then("kernel_launch_overhead=100"), "180 10 2");
  EXPECT_EQ(then("no such=50"), "190 0 0");
  for (const char* wrong : {"gemm", "=50", "gemm=101", "gemm=x", "gemm="}) {
    EXPECT_FALSE(answer("critical-path", rows.build(), {{"what-if", wrong}}).ok()) << wrong;
  }
}

// HTA leaves them out.
TEST(CriticalPath, graph_launched_kernels_are_on_the_path) {
  for (const char* call : {"hipGraphLaunch", "cudaGraphLaunch"}) {
    trace::TraceBuilder rows;
    rows.add(runtime(call, 0, 10), OpRow{"n1", 20, 50, 0, 1}, OpRow{"n2", 55, 90, 0, 1},
             OpRow{"n3", 30, 60, 0, 2});
    EXPECT_EQ(edges_of(rows),
              (Lines{fmt::format("launch delay|start of {}|start of n1|20", call),
                     "span|start of n1|end of n1|30", "kernel-kernel delay|end of n1|start of n2|5",
                     "span|start of n2|end of n2|35"}));
    const report::Report slack = ask("critical-path", rows, {{"show", "slack"}});
    EXPECT_EQ(lines_of(slack, "slack", {"name", "slack_ns"}), (Lines{"n1|0", "n3|30", "n2|0"}));
  }
}

TEST(CriticalPath, CommunicationCopiesAndDataLoading) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"user_annotation", "enumerate(DataLoader)#next", 0, 100});
  rows.add(ApiRow{"cpu_op", "aten::stack", 20, 90});
  rows.add(runtime("hipMemcpyAsync", 110, 120), OpRow{"", 130, 180, 0, 0, "CopyHostToDevice"});
  rows.add(runtime("hipLaunchKernel", 121, 125), OpRow{"ncclDevKernel_AllReduce", 180, 300});
  rows.add(runtime("hipStreamSynchronize", 130, 310));
  EXPECT_EQ(bounds_of(ask("critical-path", rows)),
            (Lines{"gpu_communication|120", "data_loading|100", "gpu_copy|50",
                   "kernel_launch_overhead|20"}));
}

TEST(CriticalPath, LongGapsOfAQueueAreNoDelayOfIt) {
  trace::TraceBuilder rows;
  rows.add(runtime("hipLaunchKernel", 0, 10), OpRow{"k1", 10, 100});
  rows.add(runtime("hipLaunchKernel", 10, 20), OpRow{"k2", 100 + 1500 * kUs, 200 + 1500 * kUs});
  const auto length = [&](const char* gap) {
    return fact_of(section_of(ask("critical-path", rows, {{"kernel-gap", gap}}), "bound_by"),
                   "length_ns");
  };
  EXPECT_EQ(length("1500us"), "200");
  EXPECT_EQ(length("1501us"), "1500200");
}

// A thread that begins after another one has ended its call goes on from there.
TEST(CriticalPath, WorkOfAnotherThread) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cpu_op", "forward", 0, 100, 1});
  rows.add(ApiRow{"cpu_op", "backward", 110, 250, 2});
  rows.add(ApiRow{"cpu_op", "optimizer", 260, 300, 1});
  EXPECT_EQ(edges_of(rows), (Lines{"span|start of forward|end of forward|100",
                                   "thread|end of forward|start of backward|0",
                                   "span|start of backward|end of backward|140",
                                   "thread|end of backward|start of optimizer|0",
                                   "span|start of optimizer|end of optimizer|40"}));
}

// With records of synchronisation: stream 2 waits for an event that was recorded after k1, and not
// for k3, which was launched into stream 1 later.
TEST(CriticalPath, StreamsThatWaitForEvents) {
  trace::TraceBuilder rows;
  rows.add(runtime("cudaLaunchKernel", 0, 10), OpRow{"k1", 15, 115, 0, 1});
  rows.add(runtime("cudaEventRecord", 11, 12, 1, R"({"correlation": 7})"));
  rows.add(runtime("cudaLaunchKernel", 13, 20), OpRow{"k3", 115, 116, 0, 1});
  rows.add(runtime("cudaStreamWaitEvent", 21, 22, 1, R"({"cbid": 1, "correlation": 8})"));
  rows.add(ApiRow{"cuda_sync", "Stream Wait Event", 21, 22, 2, 0, "",
                  R"({"wait_on_stream": 1, "wait_on_cuda_event_record_corr_id": 7,
                      "stream": 2, "correlation": 8, "device": 0})"});
  rows.add(runtime("cudaLaunchKernel", 23, 30), OpRow{"k2", 120, 220, 0, 2});
  EXPECT_EQ(edges_of(rows), (Lines{"launch delay|start of cudaLaunchKernel|start of k1|15",
                                   "span|start of k1|end of k1|100", "sync|end of k1|start of k2|0",
                                   "span|start of k2|end of k2|100"}));
}

// Sonde records events and streams of HIP. The wait is for k1, which was launched into the first
// stream before the event was recorded; the event is used again later, and k4 of another stream
// ends closer to the start of k2, which would mislead a guess.
TEST(CriticalPath, StreamsOfHipThatWaitForEvents) {
  trace::TraceBuilder rows;
  rows.add(hip("hipLaunchKernel", 0, 5, "", 0xa0), OpRow{"k1", 15, 115, 0, 1});
  rows.add(hip("hipEventRecord", 10, 15, "event = 0xe1 | stream = 0xa0"));
  rows.add(hip("hipLaunchKernel", 20, 25, "", 0xa0), OpRow{"k3", 116, 117, 0, 1});
  rows.add(hip("hipLaunchKernel", 30, 35, "", 0xc0), OpRow{"k4", 118, 119, 0, 3});
  rows.add(hip("hipStreamWaitEvent", 40, 45, "stream = 0xb0 | event = 0xe1 | flags = 0"));
  rows.add(hip("hipEventRecord", 50, 55, "event = 0xe1 | stream = 0xc0"));
  rows.add(hip("hipGraphLaunch", 60, 65, "graphExec = 0x9 | stream = 0xb0"),
           OpRow{"k2", 120, 220, 0, 2});
  for (const uint32_t seed : {0u, 1u, 2u}) {
    EXPECT_EQ(edges_of(rows, seed),
              (Lines{"launch delay|start of hipLaunchKernel|start of k1|15",
                     "span|start of k1|end of k1|100", "sync|end of k1|start of k2|0",
                     "span|start of k2|end of k2|100"}));
  }
}

// A call that waits for an event waits for what was in the stream before, not for what ended last.
TEST(CriticalPath, SynchronisationWithAnEventOfHip) {
  trace::TraceBuilder rows;
  rows.add(hip("hipLaunchKernel", 0, 5, "", 0xa0), OpRow{"short", 12, 100, 0, 1});
  rows.add(hip("hipEventRecord", 6, 8, "event = 0xe1 | stream = 0xa0"));
  rows.add(hip("hipLaunchKernel", 10, 15, "", 0xb0), OpRow{"other", 15, 125, 0, 2});
  rows.add(hip("hipEventSynchronize", 20, 130, "event = 0xe1"));
  trace::Trace trace = rows.build(0, find_analysis("critical-path")->needs({}));
  const Waits waits = find_waits(trace, order_of_ops(trace));
  ASSERT_EQ(waits.calls.size(), 1u);
  EXPECT_EQ(trace.names[trace.label(static_cast<size_t>(waits.calls[0].awaited))], "short");
}

// Sonde records the wait lists of OpenCL. The kernel waits for the copy of another queue, though
// "beside" ended later; and the call for the kernel alone. The copy's event is of an earlier call,
// too, and is used again later.
TEST(CriticalPath, WaitListsOfOpenCl) {
  trace::TraceBuilder rows;
  const auto call = [](const char* name, int64_t start, int64_t end, const char* args) {
    return ApiRow{"", name, start, end, 1, 1, "opencl", args};
  };
  rows.add(call("clEnqueueFillBuffer", 0, 2, "wait_list = \"\" | event = 0xe1"),
           OpRow{"fill", 3, 4, 0, 4});
  rows.add(call("clEnqueueWriteBuffer", 5, 7, "wait_list = \"\" | event = 0xe1"),
           OpRow{"copy", 15, 110, 0, 1});
  rows.add(call("clEnqueueNDRangeKernel", 10, 12, "wait_list = \"\" | event = 0x0"),
           OpRow{"beside", 16, 118, 0, 3});
  rows.add(call("clEnqueueNDRangeKernel", 20, 22,
                "num_events = 2 | wait_list = \"0x77,0xe1\" | event = 0xe2"),
           OpRow{"kernel", 120, 220, 0, 2});
  rows.add(call("clEnqueueNDRangeKernel", 30, 32, "wait_list = \"\" | event = 0xe1"),
           OpRow{"after", 121, 224, 0, 5});
  rows.add(call("clWaitForEvents", 40, 225, "num_events = 1 | wait_list = \"0xe2\""));
  for (const uint32_t seed : {0u, 1u, 2u}) {
    EXPECT_EQ(edges_of(rows, seed),
              (Lines{"span|start of clEnqueueFillBuffer|end of clEnqueueFillBuffer|2",
                     "dependency|end of clEnqueueFillBuffer|start of clEnqueueWriteBuffer|0",
                     "launch delay|start of clEnqueueWriteBuffer|start of copy|10",
                     "span|start of copy|end of copy|95", "sync|end of copy|start of kernel|0",
                     "span|start of kernel|end of kernel|100",
                     "sync|end of kernel|end of clWaitForEvents|0"}));
  }
}

// Other tools keep neither events nor streams; the time tells.
TEST(CriticalPath, QueuesThatWaitWithoutRecords) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"", "hipLaunchKernel", 0, 10}, OpRow{"k1", 15, 115, 0, 1});
  rows.add(ApiRow{"", "hipStreamWaitEvent", 21, 22});
  rows.add(ApiRow{"", "hipLaunchKernel", 23, 30}, OpRow{"k2", 120, 220, 0, 2});
  EXPECT_EQ(edges_of(rows).at(2), "sync|end of k1|start of k2|0");
}

TEST(CriticalPath, SaysWhatIsMissing) {
  const report::Report report = ask("critical-path", trace::TraceBuilder());
  EXPECT_TRUE(section_of(report, "bound_by").table.rows.empty());
  EXPECT_EQ(report.notes, (Lines{"the trace has no operations", "the trace has no calls"}));
  trace::TraceBuilder one;
  one.add(OpRow{"k", 10, 30});
  EXPECT_EQ(bounds_of(ask("critical-path", one)), (Lines{"gpu_compute|20"}));
}

TEST(Arguments, OfAFlatObjectAndOfAList) {
  const char* args = R"({ "a": "x \" y", "b" : -3,
     "c": [1, 2], "stream": 4294967295 })";
  EXPECT_EQ(argument(args, "a"), R"(x \" y)");
  EXPECT_EQ(integer_argument(args, "b"), -3);
  EXPECT_EQ(integer_argument(args, "stream"), 4294967295);
  EXPECT_EQ(argument(args, "x"), std::nullopt);
  EXPECT_EQ(argument("{\"b\"", "b"), std::nullopt);
  EXPECT_EQ(integer_argument("count = 10 | bytes = 40 | ret = 5", "bytes"), 40);
  EXPECT_EQ(argument("count = 10", "unt"), std::nullopt);
}

// Against all paths, one by one, of small random graphs of calls and operations.
int64_t longest_by_trying(const Graph& graph, uint32_t node) {
  int64_t longest = 0;
  for (const Edge& edge : graph.edges) {
    if (edge.from != node) continue;
    longest = std::max(longest, edge.weight_ns + longest_by_trying(graph, edge.to));
  }
  return longest;
}

TEST(CriticalPath, EqualsTheLongestOfAllPaths) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    Graph graph;
    graph.api_count = 6;
    graph.time_ns.resize(12);
    for (size_t i = 0; i < graph.time_ns.size(); ++i) graph.time_ns[i] = static_cast<int64_t>(i);
    for (int i = 0; i < 22; ++i) {
      const auto from = static_cast<uint32_t>(random() % 11);
      const auto to = from + 1 + static_cast<uint32_t>(random() % (11 - from));
      graph.edges.push_back({from, to, static_cast<int64_t>(random() % 9), EdgeKind::kSpan,
                             BoundBy::kCpu, trace::kNone});
    }
    const LongestPath path = longest_path(graph);
    const std::vector<int64_t> after_ns = longest_after(graph);
    int64_t expected = 0;
    for (uint32_t node = 0; node < 12; ++node) {
      expected = std::max(expected, longest_by_trying(graph, node));
      ASSERT_EQ(after_ns[node], longest_by_trying(graph, node)) << "seed " << seed;
    }
    ASSERT_EQ(path.length_ns, expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sonde::analysis
