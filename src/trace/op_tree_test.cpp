#include "trace/op_tree.h"

#include <gtest/gtest.h>

#include "trace/trace_builder_test_support.h"

namespace sonde::trace {
namespace {

std::string name_of(const Trace& trace, Row api) {
  return api == kNone ? "-" : trace.names[trace.apis.label[static_cast<size_t>(api)]];
}

Row find(const Trace& trace, const std::string& name) {
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    if (trace.names[trace.apis.label[i]] == name) return static_cast<Row>(i);
  }
  ADD_FAILURE() << name;
  return kNone;
}

// The parent's name, by a call's.
auto parents(const Trace& trace, const OpTree& tree) {
  return [&](const std::string& name) {
    return name_of(trace, tree.parent[static_cast<size_t>(find(trace, name))]);
  };
}

TEST(OpTree, PythonOperatorCallKernel) {
  TraceBuilder rows;
  rows.add(TraceBuilder::Api{"cuda_runtime", "hipLaunchKernel", 30, 40},
           TraceBuilder::Op{"k", 70, 80});
  rows.add(TraceBuilder::Api{"cpu_op", "aten::addmm", 25, 45});
  rows.add(TraceBuilder::Api{"cpu_op", "aten::linear", 20, 45});
  rows.add(TraceBuilder::Api{"python_function", "model.py(3): forward", 10, 50});
  rows.add(TraceBuilder::Api{"user_annotation", "ProfilerStep#1", 0, 60});
  rows.add(TraceBuilder::Api{"cpu_op", "other thread", 0, 100, 2});
  rows.add(TraceBuilder::Op{"before", 1, 2});
  for (const uint32_t seed : {0u, 1u, 2u, 3u}) {
    const Trace trace = rows.build(seed);
    const OpTree tree = build_op_tree(trace);
    const auto parent = parents(trace, tree);
    EXPECT_EQ(parent("hipLaunchKernel"), "aten::addmm");
    EXPECT_EQ(parent("aten::addmm"), "aten::linear");
    EXPECT_EQ(parent("aten::linear"), "model.py(3): forward");
    EXPECT_EQ(parent("model.py(3): forward"), "ProfilerStep#1");
    EXPECT_EQ(parent("ProfilerStep#1"), "-");
    EXPECT_EQ(parent("other thread"), "-");
    ASSERT_EQ(trace.names[trace.ops.name[0]], "before");
    EXPECT_EQ(tree.leaf[0], kNone);
    EXPECT_EQ(name_of(trace, tree.leaf[1]), "aten::addmm");
  }
}

// Correlation numbers of two processes may be equal, and their threads may have equal numbers.
TEST(OpTree, correlation_ids_are_per_process) {
  TraceBuilder rows;
  for (const int64_t pid : {1, 2}) {
    const std::string suffix = std::to_string(pid);
    rows.add(TraceBuilder::Api{"cuda_runtime", "hipLaunchKernel", 30, 40, 7, pid},
             TraceBuilder::Op{"k" + suffix, 60, 70, static_cast<int32_t>(pid)});
    rows.add(TraceBuilder::Api{"cpu_op", "aten::op" + suffix, 20, 50, 7, pid});
  }
  const Trace trace = rows.build();
  const OpTree tree = build_op_tree(trace);
  for (size_t op = 0; op < 2; ++op) {
    EXPECT_EQ("aten::op" + trace.names[trace.ops.name[op]].substr(1),
              name_of(trace, tree.leaf[op]));
    EXPECT_EQ(trace.processes[static_cast<size_t>(trace.ops.process[op])].pid, trace.ops.gpu[op]);
  }
}

TEST(OpTree, WithoutAnOperatorTheInnermostRangeElseTheCall) {
  TraceBuilder rows;
  rows.add(TraceBuilder::Api{"", "outer", 0, 100, 1, 1, "roctx"});
  rows.add(TraceBuilder::Api{"", "inner", 10, 30, 1, 1, "roctx"});
  rows.add(TraceBuilder::Api{"", "hipLaunchKernel", 15, 20}, TraceBuilder::Op{"k", 200, 210});
  rows.add(TraceBuilder::Api{"", "hipMemcpyAsync", 150, 160}, TraceBuilder::Op{"copy", 300, 310});
  const Trace trace = rows.build();
  const OpTree tree = build_op_tree(trace);
  EXPECT_EQ(name_of(trace, tree.leaf[0]), "inner");
  EXPECT_EQ(name_of(trace, tree.leaf[1]), "hipMemcpyAsync");
}

TEST(OpTree, RangesThatOverlapWithoutNesting) {
  TraceBuilder rows;
  rows.add(TraceBuilder::Api{"", "first", 0, 50, 1, 1, "roctx"});
  rows.add(TraceBuilder::Api{"", "second", 40, 90, 1, 1, "roctx"});
  rows.add(TraceBuilder::Api{"", "in both", 42, 45, 1, 1, "hip"});
  rows.add(TraceBuilder::Api{"", "over the end", 48, 60, 1, 1, "hip"});
  rows.add(TraceBuilder::Api{"", "at the end", 90, 95, 1, 1, "hip"});
  const Trace trace = rows.build();
  const OpTree tree = build_op_tree(trace);
  const auto parent = parents(trace, tree);
  EXPECT_EQ(parent("second"), "-");
  EXPECT_EQ(parent("in both"), "second");
  EXPECT_EQ(parent("over the end"), "second");
  EXPECT_EQ(parent("at the end"), "-");
}

// An oracle of the definition: of all calls of the thread that contain a call, the shortest.
TEST(OpTree, EqualsTheDefinitionOnRandomTrees) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    TraceBuilder rows;
    std::vector<std::array<int64_t, 3>> used;
    for (int i = 0; i < 60; ++i) {
      const auto start = static_cast<int64_t>(random() % 200);
      const auto end = start + 1 + static_cast<int64_t>(random() % 60);
      const auto tid = static_cast<int64_t>(random() % 2);
      // Calls with the same times have no defined order.
      if (std::find(used.begin(), used.end(), std::array{start, end, tid}) != used.end()) continue;
      used.push_back({start, end, tid});
      rows.add(TraceBuilder::Api{"cpu_op", "op" + std::to_string(i), start, end, tid});
    }
    const Trace trace = rows.build(seed);
    const OpTree tree = build_op_tree(trace);
    const Apis& apis = trace.apis;
    for (size_t i = 0; i < apis.size(); ++i) {
      // Of those that contain it, the one that started last, then the shortest.
      Row expected = kNone;
      for (size_t j = 0; j < apis.size(); ++j) {
        if (i == j || apis.thread[i] != apis.thread[j]) continue;
        if (apis.start_ns[j] > apis.start_ns[i] || apis.end_ns[j] < apis.end_ns[i]) continue;
        const auto best = static_cast<size_t>(expected);
        const bool inner =
            expected == kNone || apis.start_ns[j] > apis.start_ns[best] ||
            (apis.start_ns[j] == apis.start_ns[best] && apis.end_ns[j] < apis.end_ns[best]);
        if (inner) expected = static_cast<Row>(j);
      }
      ASSERT_EQ(name_of(trace, tree.parent[i]), name_of(trace, expected)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sonde::trace
