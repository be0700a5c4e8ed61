#include "analysis/findings/findings.h"

#include <algorithm>

#include "analysis/analysis_test_support.h"

namespace sonde::analysis {
namespace {

std::vector<Finding> findings_in(const trace::TraceBuilder& rows, double least) {
  const trace::Trace trace = rows.build(0, findings_needs());
  return findings_of({&trace, 1}, least);
}

// "ID SAVING/COST of WHOLE"
Lines lines_of(const std::vector<Finding>& findings) {
  Lines lines;
  for (const Finding& finding : findings) {
    lines.push_back(fmt::format("{} {}/{} of {}", finding.id, finding.saving_ns, finding.cost_ns,
                                finding.wall_ns));
  }
  return lines;
}

Lines found(const trace::TraceBuilder& rows, double least = 5) {
  return lines_of(findings_in(rows, least));
}

TEST(Findings, NoneWithoutWorkOfADevice) {
  EXPECT_TRUE(found({}).empty());
  const trace::Trace empty = trace::TraceBuilder().build();
  const auto report = findings_report({&empty, 1}, {}, {});
  EXPECT_TRUE(has(report.sections.front().empty_text, "No device operations"));
}

// 1000 ns of kernel, 3000 ns in which the next launch was not made, 1000 ns of another kernel.
TEST(Findings, LateLaunches) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"hip", "hipLaunchKernel", 0, 50}, OpRow{"a", 100, 1100});
  rows.add(ApiRow{"hip", "hipLaunchKernel", 3900, 3950}, OpRow{"b", 4100, 5100});
  EXPECT_EQ(found(rows), (Lines{"launch-bound 3000/3000 of 5000", "one-kernel 500/1000 of 5000"}));
  EXPECT_EQ(found(rows, 50), (Lines{"launch-bound 3000/3000 of 5000"}));
  const auto findings = findings_in(rows, 50);
  EXPECT_TRUE(has(findings.front().evidence, "1 gap, 3.00 us on average"));
  EXPECT_TRUE(has(findings.front().evidence, "ends with b"));
}

// The evidence says what the host did instead of launching.
TEST(Findings, WhatTheHostDidIsNamed) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"hip", "hipLaunchKernel", 0, 50}, OpRow{"a", 100, 1100});
  rows.add(ApiRow{"hip", "hipModuleLoadData", 1200, 3800});
  rows.add(ApiRow{"hip", "hipLaunchKernel", 3900, 3950}, OpRow{"b", 4100, 5100});
  const auto findings = findings_in(rows, 50);
  EXPECT_EQ(findings.front().id, "code-loading");
  EXPECT_TRUE(has(findings.front().evidence, "hipModuleLoadData"));
}

// The call comes 1000 ns into the gap and takes 6000, and its kernel begins 400,000 after it: not
// the program is late.
TEST(Findings, WorkThatIsLaunchedAndDoesNotBegin) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"hip", "hipLaunchKernel", 0, 50}, OpRow{"a", 0, 100'000});
  rows.add(ApiRow{"hip", "hipLaunchKernel", 101'000, 107'000}, OpRow{"b", 501'000, 600'000});
  EXPECT_EQ(found(rows, 0.1),
            (Lines{"slow-start 400000/400000 of 600000", "one-kernel 50000/100000 of 600000",
                   "launch-bound 1000/1000 of 600000"}));
  EXPECT_EQ(findings_in(rows, 50).front().evidence,
            "1 gap, 400 us on average; the longest, 400 us, ends with b, whose "
            "hipLaunchKernel returned after 6.00 us");
}

TEST(Findings, CopiesThatNothingHides) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"a", 0, 1000});
  rows.add(OpRow{"", 500, 2500, 0, 1, "CopyHostToDevice", 64});
  rows.add(OpRow{"b", 2500, 4000});
  EXPECT_EQ(found(rows),
            (Lines{"exposed-copies 1500/1500 of 4000", "one-kernel 750/1500 of 4000"}));
}

// Each GPU counts with its own time, and both together are the whole.
TEST(Findings, SharesAreOfAllGpus) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"ncclDevKernel_AllReduce", 0, 1000, 0});
  rows.add(OpRow{"a", 0, 3000, 1});
  rows.add(OpRow{"a", 0, 3000, 1, 1});
  rows.add(OpRow{"c", 1000, 2000, 0});
  EXPECT_EQ(found(rows),
            (Lines{"one-kernel 1500/3000 of 5000", "exposed-communication 1000/1000 of 5000"}));
  EXPECT_DOUBLE_EQ(findings_in(rows, 5)[1].saving_percentage(), 20);
}

TEST(Findings, AdviceOnPrecisionIsForTheGpuThatItIsAbout) {
  const auto advice = [](const char* device) {
    trace::TraceBuilder rows;
    rows.set_device(0, device);
    rows.add(OpRow{"volta_sgemm_128x64_nn", 0, 100});
    return findings_in(rows, 5).front().advice;
  };
  EXPECT_TRUE(has(advice("NVIDIA A100-SXM4-40GB"), "TF32, from"));
  EXPECT_TRUE(has(advice("Some GPU"), "TF32, from"));
  EXPECT_TRUE(has(advice("Tesla V100-SXM2-16GB"), "neither TF32 nor"));
}

// One trace for each finding in which it costs something, and one that is nearly the same in which
// it does not, or not for certain.
struct Case {
  const char* id;
  trace::TraceBuilder fires, is_quiet;
};

template <typename... Rows>
trace::TraceBuilder with(trace::TraceBuilder rows, const Rows&... more) {
  (rows.add(more), ...);
  return rows;
}

// A call, and so many more like it, each so much later than the one before.
trace::TraceBuilder with_calls(trace::TraceBuilder rows, ApiRow call, int64_t count,
                               int64_t every_ns) {
  for (int64_t i = 0; i < count; ++i, call.start_ns += every_ns, call.end_ns += every_ns) {
    rows.add(call);
  }
  return rows;
}

void launch(trace::TraceBuilder& rows, const char* kernel, int64_t called, int64_t start,
            int64_t end, int64_t pid = 1, int64_t gpu = 0) {
  rows.add(ApiRow{"hip", "hipLaunchKernel", called, called + 10, 1, pid},
           OpRow{kernel, start, end, gpu});
}

// Two kernels, of which the second is launched then.
trace::TraceBuilder two(int64_t called, int64_t start, int64_t end) {
  trace::TraceBuilder rows;
  launch(rows, "a", 0, 20, 1000);
  launch(rows, "b", called, start, end);
  return rows;
}

// The second by a call that lasts until `returned`.
trace::TraceBuilder two_for(int64_t called, int64_t returned, int64_t start) {
  trace::TraceBuilder rows;
  launch(rows, "a", 0, 20, 1000);
  rows.add(ApiRow{"hip", "hipLaunchKernel", called, returned}, OpRow{"b", start, start + 1000});
  return rows;
}

// Two kernels with 8000 ns between them, and something that the program does meanwhile.
trace::TraceBuilder gap_with(const char* category, const char* name, int64_t start, int64_t end) {
  return with(two(8980, 9000, 10'000), ApiRow{category, name, start, end});
}

// The same with 2 ms.
trace::TraceBuilder long_gap_with(const char* category, const char* name, int64_t start,
                                  int64_t end) {
  return with(two(2'000'000, 2'000'020, 2'001'000), ApiRow{category, name, start, end});
}

trace::TraceBuilder copies(int64_t count, int64_t bytes, const char* name = "",
                           trace::TraceBuilder rows = {}) {
  rows.add(OpRow{"k", 0, 1000});
  for (int64_t i = 0; i < count; ++i) {
    rows.add(OpRow{name, 1000 + i * 20, 1010 + i * 20, 0, 1, "CopyHostToDevice", bytes});
  }
  return rows;
}

// Ranks 0 and 1, whose clocks differ by nothing, in collectives of which `late` begins last.
trace::TraceBuilder two_ranks(int collectives, bool takes_turns) {
  trace::TraceBuilder rows;
  for (int64_t rank = 0; rank < 2; ++rank) {
    rows.set_rank(rank + 1, rank);
    for (int64_t i = 0; i < collectives; ++i) {
      const bool is_late = takes_turns ? i % 2 == rank : rank == 1;
      const int64_t at = i * 1'000'000;
      launch(rows, "ncclDevKernel_AllReduce_Sum_f32", at, at + (is_late ? 600'000 : 100'000),
             at + 700'000, rank + 1, rank);
    }
  }
  return rows;
}

// Five that take as long as each other.
trace::TraceBuilder five_kernels() {
  trace::TraceBuilder rows;
  for (int i = 0; i < 5; ++i) rows.add(OpRow{fmt::format("k{}", i), i * 10, i * 10 + 10});
  return rows;
}
trace::TraceBuilder five_operators() {
  trace::TraceBuilder rows;
  for (int i = 0; i < 5; ++i) {
    rows.add(ApiRow{"cpu_op", fmt::format("aten::op{}", i), i * 10, i * 10 + 10});
  }
  return rows;
}

constexpr const char* kLoader = "enumerate(DataLoader)#_Iter.__next__";
const ApiRow kProduct = {"cpu_op", "aten::mm", 100, 300};
const ApiRow kStep = {"user_annotation", "ProfilerStep#1", 0, 300};
const OpRow kAllReduce = {"ncclDevKernel_AllReduce_Sum_f32", 1000, 2000, 0, 1};

const Case kCases[] = {
    {"waits", gap_with("hip", "hipDeviceSynchronize", 500, 8970),
     gap_with("hip", "hipGetDevice", 500, 8970)},
    {"launch-bound", gap_with("cpu_op", "aten::item", 500, 8970), two(900, 9000, 10'000)},
    {"launch-latency", two(900, 9000, 10'000), two(900, 50'000, 51'000)},
    {"stream-waits", with(two(900, 50'000, 51'000), ApiRow{"hip", "hipStreamWaitEvent", 500, 510}),
     two(900, 50'000, 51'000)},
    {"slow-start", two(1100, 50'000, 51'000), two(49'000, 50'000, 51'000)},
    {"idle-unexplained", with({}, OpRow{"a", 20, 1000}, OpRow{"b", 50'000, 51'000}),
     two(49'000, 50'000, 51'000)},
    {"slow-call", two_for(1100, 30'000, 50'000), two_for(1100, 20'000, 50'000)},
    {"slow-start", two_for(1100, 20'000, 50'000), two_for(1100, 30'000, 50'000)},
    {"host-work", long_gap_with("hip", "hipStreamCreate", 2000, 1'990'000),
     // Many short calls.
     with_calls(two(2'000'000, 2'000'020, 2'001'000), {"cpu_op", "aten::view", 2000, 2900}, 1988,
                1000)},
    {"host-unknown", long_gap_with("user_annotation", "step", 1000, 1'999'000),
     long_gap_with("python_function", "train.py(3): augment", 1000, 1'999'000)},
    {"data-loading", gap_with("user_annotation", kLoader, 1100, 8900),
     gap_with("user_annotation", kLoader, 100, 900)},
    {"data-loading", gap_with("user_annotation", kLoader, 1100, 8900),
     // A thread that loads ahead.
     with(gap_with("user_annotation", "wait for the batch", 1100, 8900),
          ApiRow{"user_annotation", "DataLoader worker", 1100, 8900, 1, 2})},
    {"allocations", with_calls(two(8980, 9000, 10'000), {"hip", "hipMalloc", 6000, 6200}, 10, 200),
     with_calls(two(8980, 9000, 10'000), {"hip", "hipMalloc", 1000, 1200}, 10, 200)},
    {"allocations", with_calls(two(8980, 9000, 10'000), {"hip", "hipMalloc", 6000, 6200}, 10, 200),
     // By a thread that launches nothing.
     with_calls(gap_with("user_annotation", "preprocess", 1100, 8900),
                {"hip", "hipMalloc", 6000, 6100, 1, 2}, 10, 200)},
    {"python-gc", gap_with("python_function", "Python GC", 1100, 8900),
     gap_with("python_function", "train.py(3): gc", 1100, 8900)},
    {"python-gc", gap_with("python_function", "<built-in function collect>", 1100, 8900),
     gap_with("python_function", "<built-in method collect of PyLazyFrame object>", 1100, 8900)},
    {"exposed-communication", with({}, OpRow{"k", 0, 1000}, kAllReduce),
     with({}, OpRow{"k", 0, 2000}, kAllReduce)},
    {"exposed-copies", copies(10, 1 << 20), with(copies(10, 1 << 20), OpRow{"k", 1000, 2000})},
    {"small-copies", copies(100, 4096), copies(100, 1 << 20, "", copies(99, 4096))},
    {"pageable-copies", copies(10, 1 << 20, "Memcpy HtoD (Pageable -> Device)"),
     copies(10, 1 << 20, "Memcpy HtoD (Pinned -> Device)")},
    {"device-copies", copies(10, 1 << 20, "Memcpy DtoD (Device -> Device)"),
     copies(10, 1 << 20, "Memcpy HtoD (Pinned -> Device)")},
    {"one-kernel", copies(1, 8), five_kernels()},
    {"float32-products",
     with({}, OpRow{"volta_sgemm_128x64_nn", 0, 100},
          OpRow{"cutlass_80_simt_sgemm_256x128_8x4_nn_align1", 100, 150}),
     with({}, OpRow{"ampere_sgemm_tf32_128x64_nn", 0, 100},
          OpRow{"cutlass_80_tensorop_s1688gemm_128x128_nn", 100, 150},
          OpRow{"Cijk_Ailk_Bljk_SB_MT64x64x16_MI32x32x2x1", 150, 200})},
    {"straggler", two_ranks(10, false), two_ranks(10, true)},
    {"cpu-operator",
     with({}, ApiRow{"cpu_op", "aten::linear", 0, 100}, ApiRow{"cpu_op", "aten::addmm", 5, 95}),
     five_operators()},
    {"cpu-operator", with({}, ApiRow{"cpu_op", "aten::mm", 0, 100}),
     // There is hardly any work of operators.
     with({}, ApiRow{"cpu_op", "aten::mm", 0, 100}, ApiRow{"user_annotation", "wait", 0, 100'000})},
    {"cpu-data-loading",
     with({}, ApiRow{"user_annotation", "enumerate(DataLoader)#next", 0, 100}, kProduct),
     with({}, ApiRow{"user_annotation", "step", 0, 100}, kProduct)},
    {"cpu-data-loading",
     with({}, kStep, ApiRow{"user_annotation", "enumerate(DataLoader)#next", 0, 100}, kProduct),
     // Loaded ahead, beside the step.
     with({}, kStep, ApiRow{"cpu_op", "aten::mm", 0, 300},
          ApiRow{"user_annotation", "DataLoader worker", 0, 290, 1, 2})},
};

bool is_found(const Case& one, const trace::TraceBuilder& rows) {
  const auto findings = findings_in(rows, 1);
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return finding.id == one.id; });
}

TEST(Findings, EveryFindingFiresAndKeepsQuiet) {
  std::vector<std::string> ids;
  for (const Case& one : kCases) {
    EXPECT_TRUE(is_found(one, one.fires)) << one.id;
    EXPECT_FALSE(is_found(one, one.is_quiet)) << one.id;
    ids.emplace_back(one.id);
  }
  ids.insert(ids.end(), {"cpu-function", "cpu-line", "gpu-driver", "lock-waits"});  // below
  // Those of tests/verdicts: check, counters, jobs, balance, blocked and helpers_cases.py.
  ids.insert(ids.end(),
             {"below-roofline", "code-loading", "collective-waits", "host-work", "memory-calls",
              "slow-collectives", "bank-conflicts", "l2-misses", "latency-bound", "low-occupancy",
              "memory-bound", "small-launches", "uncoalesced-access", "uneven-gpus", "host-blocked",
              "peer-copies", "graph-gaps", "missing-ranks", "transfer-waits"});
  std::vector<std::string> known = finding_ids();
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  std::sort(known.begin(), known.end());
  EXPECT_EQ(ids, known);
}

// 60 of 100 ms in one function, which two lines call; and none where five have 20 each. A sample of
// a blocked thread is no CPU time.
TEST(Findings, FunctionsAndLinesOfSamples) {
  struct Sample {
    const char* function;
    int64_t line;
    int64_t cpu_ns = 20'000'000;
  };
  // Each in so many parts: of few samples nothing is claimed.
  const auto sampled = [](const std::vector<Sample>& samples, int parts = 10) {
    trace::Trace trace;
    trace.names = {""};
    for (const Sample& one : samples) {
      for (int i = 0; i < parts; ++i) {
        add_sample(trace, one.function, one.line == 0 ? "" : "main.py", one.line,
                   one.cpu_ns / parts);
      }
    }
    trace.names.emplace_back("/usr/lib/libcuda.so.1");
    for (trace::CodeFrame& frame : trace.stacks.frames) {
      frame.is_interpreter = trace.names[frame.function].starts_with("_Py");
      if (trace.names[frame.function].find("cu") != std::string::npos) {
        frame.module = static_cast<uint32_t>(trace.names.size() - 1);  // its sources are known
      }
    }
    Lines lines;
    for (const Finding& finding : findings_of({&trace, 1}, 0)) {
      lines.push_back(fmt::format("{} {} of {}: {}", finding.id, finding.cost_ns, finding.wall_ns,
                                  finding.evidence.substr(0, finding.evidence.find(", "))));
    }
    return lines;
  };
  EXPECT_EQ(sampled({{"dot", 3}, {"dot", 9}, {"dot", 0}, {"f0", 3}, {"f1", 0}, {"wait", 7, 0}}),
            (Lines{"cpu-function 60000000 of 100000000: dot: 60.0 ms",
                   "cpu-line 40000000 of 100000000: main.py(3): f: 40.0 ms"}));
  EXPECT_EQ(sampled({{"dot", 3}, {"f0", 0}}),  // no sample is counted for both
            (Lines{"cpu-line 20000000 of 40000000: main.py(3): f: 20.0 ms"}));
  EXPECT_EQ(sampled({{"_PyLong_Add", 3}, {"_PyEval_Vector", 3}}),  // what Python does is f's
            (Lines{"cpu-line 40000000 of 40000000: main.py(3): f: 40.0 ms"}));
  EXPECT_TRUE(sampled({{"f0", 0}, {"f1", 0}, {"f2", 0}, {"f3", 0}, {"f4", 0}}).empty());
  EXPECT_TRUE(sampled({{"dot", 3}, {"f0", 0}}, 9).empty());
  // The line that waits for a GPU is not to blame for what the GPU takes.
  EXPECT_EQ(sampled({{"cuMemcpyDtoH", 3}, {"libcuda+0x8", 3}, {"dot", 3}}),
            (Lines{"gpu-driver 40000000 of 60000000: 40.0 ms",
                   "cpu-line 20000000 of 60000000: main.py(3): f: 20.0 ms"}));
}

TEST(Findings, ThreadsThatWaitForLocksAndNotThoseWithoutWork) {
  // Outermost first; f is the user's.
  const auto blocked_in = [](const std::vector<std::string>& functions,
                             std::optional<trace::Interval> window = {}) {
    trace::Trace trace;
    trace.window = window;
    trace.names = {""};
    for (int i = 0; i < 20; ++i) add_sample(trace, fmt::format("f{}", i), "", 0, 1'000'000);
    int32_t node = trace::kNone;
    for (const std::string& function : functions) {
      node = add_frame(
          trace, node, function,
          {.is_library = function != "f", .is_interpreter = function.starts_with("python3.11")});
    }
    trace.blocked.time_ns = {30'000'000};
    trace.blocked.wall_ns = {10'000'000};
    trace.blocked.thread = {1};
    trace.blocked.stack = {node};
    Lines lines;
    for (const Finding& finding : findings_of({&trace, 1}, 0)) {
      lines.push_back(finding.id + ": " + finding.evidence);
    }
    return lines;
  };
  const Lines waits = {"lock-waits: 1 thread waits for 10.0 ms, most of it in f"};
  EXPECT_EQ(blocked_in({"main", "f", "___pthread_mutex_lock", "__lll_lock_wait"}), waits);
  EXPECT_EQ(blocked_in({"f", "python3.11+0x12", "___pthread_cond_timedwait64", "futex"}), waits);
  EXPECT_EQ(blocked_in({"f", "___pthread_mutex_lock"}, trace::Interval{25'000'000, 40'000'000}),
            (Lines{"lock-waits: 1 thread waits for 5.00 ms, most of it in f"}));
  EXPECT_EQ(blocked_in({"f", "___pthread_cond_wait", "futex"}), Lines{});
  EXPECT_EQ(blocked_in({"f", "python3.11+0x12", "sem_clockwait"}), Lines{});
}

TEST(Findings, EvidenceHasTheFigures) {
  for (const Finding& finding : findings_in(two_ranks(10, false), 1)) {
    if (finding.id != "straggler") continue;
    EXPECT_EQ(finding.cost_ns, 10 * 500'000);
    EXPECT_EQ(
        finding.evidence.rfind("rank 1 came last in 10 of 10 collectives of its group, 500 us "
                               "late on average; the others waited 5.00 ms for it",
                               0),
        0u)
        << finding.evidence;
  }
}

// Two ranks that launch every 50 us, the second 10 us after the first: each GPU gets one every 50.
TEST(Findings, LaunchesAreCountedForEachGpu) {
  const auto evidence = [](int64_t ranks) {
    trace::TraceBuilder rows;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t called = 50'000 * i + 10'000 * rank;
        launch(rows, "k", called, called + 100, called + 200, rank + 1, rank);
      }
    }
    for (const Finding& finding : findings_in(rows, 1)) {
      if (finding.id == "launch-bound") {
        return finding.evidence.substr(finding.evidence.find("; a launch"));
      }
    }
    return std::string();
  };
  EXPECT_EQ(evidence(1), "; a launch every 50.0 us");
  EXPECT_EQ(evidence(2), "; a launch every 50.0 us on each GPU");
}

TEST(Findings, EveryIdIsKnown) {
  const auto ids = finding_ids();
  EXPECT_EQ(ids.size(), 44u);
  for (const std::string& id : ids) {
    EXPECT_TRUE(has(findings_definition(), id)) << id;
  }
}

}  // namespace
}  // namespace sonde::analysis
