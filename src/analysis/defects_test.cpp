// What well-known tools get wrong, one test each. Those about categories and links are beside the
// trace model (trace/arrange_test.cpp, trace/op_tree_test.cpp), those that hold for every trace in
// properties_test.cpp.
#include "analysis/analysis_test_support.h"

#include <algorithm>

namespace sonde::analysis {
namespace {

// Two queues of a GPU at once, and two GPUs that work one after the other.
TEST(Defects, busy_never_exceeds_wall) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"a", 0, 100, 0, 0});
  rows.add(OpRow{"b", 0, 100, 0, 1});
  rows.add(OpRow{"c", 1000, 1100, 1, 0});
  EXPECT_EQ(lines_of(ask("busy", rows), "busy", {"gpu_id", "busy_ns", "span_ns", "busy", "sum_ns"}),
            (Lines{"0|100|100|1|200", "1|100|100|1|100"}));
}

TEST(Defects, identical_rows_counted_twice) {
  trace::TraceBuilder rows;
  for (int i = 0; i < 2; ++i) rows.add(OpRow{"same", 10, 30});
  EXPECT_EQ(lines_of(ask("top", rows), "top", {"name", "calls", "total_ns"}), (Lines{"same|2|40"}));
  EXPECT_EQ(lines_of(ask("kernels", rows), "kernels", {"calls", "total_ns", "busy_ns"}),
            (Lines{"2|40|20"}));
}

// Groups of groups are made from the rows, not from means and deviations of parts.
TEST(Defects, domain_summary_does_not_sum_means) {
  trace::TraceBuilder rows;
  int64_t t = 0;
  for (const int64_t length : {10, 10, 10, 10}) {
    rows.add(OpRow{"void k<int>()", t, t + length});
    t += 1000;
  }
  rows.add(OpRow{"void k<float>()", t, t + 110});
  EXPECT_EQ(lines_of(ask("kernels", rows, {{"by", "base"}}), "kernels",
                     {"name", "calls", "mean_ns", "median_ns", "p95_ns", "cv"}),
            (Lines{"k|5|30|10|110|1.491"}));
}

// 1000 gaps of 2 us are 2 ms together, and each is one of 2 us.
TEST(Defects, gap_buckets_per_gap) {
  trace::TraceBuilder rows;
  for (int64_t i = 0; i <= 1000; ++i) rows.add(OpRow{"k", i * 3000, i * 3000 + 1000});
  EXPECT_EQ(lines_of(ask("idle", rows), "lengths", {"from_ns", "below_ns", "gaps", "total_ns"}),
            (Lines{"2000|5000|1000|2000000"}));
}

TEST(Defects, full_queue_all_streams) {
  trace::TraceBuilder rows;
  for (const int64_t queue : {7, 8, 9}) {
    for (int i = 0; i < 3; ++i) {
      rows.add(ApiRow{"", "hipLaunchKernel", i * 10, i * 10 + 5, queue},
               OpRow{"k", 100 + i * 10, 110 + i * 10, 0, queue});
    }
  }
  EXPECT_EQ(lines_of(ask("queues", rows, {{"full", "3"}}), "queues",
                     {"queue_id", "max_outstanding", "max_waiting", "full_ns"}),
            (Lines{"7|3|3|85", "8|3|3|85", "9|3|3|85"}));
}

TEST(Defects, launch_stats_include_hip) {
  for (const char* name : {"hipLaunchKernel", "hipExtModuleLaunchKernel", "cudaLaunchKernel",
                           "cuLaunchKernel", "clEnqueueNDRangeKernel", "hipGraphLaunch"}) {
    trace::TraceBuilder rows;
    rows.add(ApiRow{"", name, 0, 5}, OpRow{"k", 12, 20});
    EXPECT_EQ(lines_of(ask("launches", rows), "launches", {"phase", "count", "total_ns"}),
              (Lines{"A: call|1|5", "Q: in the queue|1|7", "K: operation|1|8", "T: all|1|20",
                     "S: to its start, without W|1|12"}))
        << name;
  }
}

// 30 us is 30,000 of the nanoseconds that all times are in.
TEST(Defects, gap_threshold_units) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"", "hipLaunchKernel", 0, 5}, OpRow{"k", 10, 1'000}, OpRow{"k", 30'999, 31'000},
           OpRow{"k", 61'000, 62'000});
  EXPECT_EQ(lines_of(ask("idle", rows), "idle", {"reason", "gaps", "total_ns"}),
            (Lines{"other|1|30000", "launch latency|1|29999"}));
}

TEST(Defects, bandwidth_si_units) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"", 0, 1'000'000, 0, 0, "CopyHostToDevice", 25'000'000});
  EXPECT_EQ(lines_of(ask("copies", rows), "copies", {"moved_bytes", "gb_per_s"}),
            (Lines{"25000000|25"}));
}

TEST(Defects, parents_not_double_counted) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 20, 25}, OpRow{"gemm", 100, 200});
  rows.add(ApiRow{"cpu_op", "aten::addmm", 10, 40});
  rows.add(ApiRow{"cpu_op", "aten::linear", 5, 50});
  const auto report = ask("operators", rows);
  const auto& table = section_of(report, "operators").table;
  EXPECT_EQ(lines_of(table, {"operator", "self_gpu_ns", "total_gpu_ns", "cpu_self_ns"}),
            (Lines{"aten::addmm|100|100|30", "aten::linear|0|100|15"}));
  EXPECT_EQ(sum_of(table, "self_gpu_ns"), 100);
}

// A dispatch mode shows each operator inside of itself.
TEST(Defects, count_under_dispatch_mode) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 20, 25}, OpRow{"gemm", 100, 200});
  rows.add(ApiRow{"cpu_op", "aten::mm", 12, 30});
  rows.add(ApiRow{"cpu_op", "aten::mm", 10, 40});
  EXPECT_EQ(lines_of(ask("operators", rows), "operators",
                     {"operator", "calls", "self_ops", "total_ops", "total_gpu_ns", "cpu_ns"}),
            (Lines{"aten::mm|1|1|1|100|30"}));
}

// What calls itself twice, or beside others, is as many calls as that; its time counts once.
TEST(Defects, count_of_operators_that_call_themselves) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cpu_op", "aten::sum", 10, 100});
  rows.add(ApiRow{"cpu_op", "aten::sum", 20, 40});
  rows.add(ApiRow{"cpu_op", "aten::sum", 50, 60});
  rows.add(ApiRow{"cpu_op", "aten::mean", 200, 300});
  rows.add(ApiRow{"cpu_op", "aten::mean", 210, 290});
  rows.add(ApiRow{"cpu_op", "aten::mean", 220, 230});
  rows.add(ApiRow{"cpu_op", "aten::div_", 240, 280});
  EXPECT_EQ(
      lines_of(ask("operators", rows), "operators", {"operator", "calls", "cpu_ns", "cpu_self_ns"}),
      (Lines{"aten::sum|3|90|90", "aten::mean|2|100|60", "aten::div_|1|40|40"}));
}

TEST(Defects, copy_filled_gap_not_idle) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"k", 0, 100});
  rows.add(OpRow{"", 100, 180, 0, 1, "CopyHostToDevice"});
  rows.add(OpRow{"k", 200, 300});
  EXPECT_EQ(lines_of(ask("idle", rows), "idle", {"reason", "gaps", "total_ns"}),
            (Lines{"copy|1|80", "unlinked|1|20"}));
}

TEST(Defects, zero_length_events) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"compute", 0, 100});
  rows.add(OpRow{"ncclDevKernel", 50, 50, 0, 1});
  rows.add(OpRow{"ncclDevKernel", 100, 100, 0, 1});
  rows.add(OpRow{"ncclDevKernel", 150, 150, 0, 1});
  const auto report = ask("overlap", rows);
  EXPECT_TRUE(section_of(report, "overlap").table.rows.empty());
  EXPECT_EQ(lines_of(report, "at_once", {"operations", "time_ns"}), (Lines{"1|100"}));
  EXPECT_EQ(lines_of(ask("breakdown", rows), "plain",
                     {"busy_ns", "idle_ns", "comm_ns", "comm_comp_overlap_ns"}),
            (Lines{"100|50|0|0"}));
}

// The reasons of gaps, each told apart from the next one.
// What a profiler draws of a marker, or of a wait, over the device's own time is not a second call.
TEST(Defects, annotations_of_the_device_are_no_calls) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"user_annotation", "ProfilerStep#6", 0, 40});
  rows.add(ApiRow{"gpu_user_annotation", "ProfilerStep#6", 20, 95, 7});
  rows.add(ApiRow{"cuda_sync", "Context Sync", 30, 60, 7});
  rows.add(ApiRow{"cuda_runtime", "cudaDeviceSynchronize", 30, 40});
  EXPECT_EQ(lines_of(ask("api", rows), "api", {"name", "calls", "total_ns", "percentage"}),
            (Lines{"ProfilerStep#6|1|40|80", "cudaDeviceSynchronize|1|10|20"}));
}

// The GPU runs what a step launched while the program is in the next one, or later.
TEST(Defects, steps_have_what_they_launched) {
  trace::TraceBuilder rows;
  rows.set_rank(1, 4);
  for (int64_t step = 0; step < 3; ++step) {
    const int64_t at = step * 100;
    rows.add(ApiRow{"user_annotation", "ProfilerStep#" + std::to_string(step), at, at + 100});
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t begin = 90 + step * 1000 + i * 200;
      rows.add(ApiRow{"", "hipLaunchKernel", at + i * 10, at + i * 10 + 5, 1 + i},
               OpRow{"k", begin, begin + 100 + 10 * step, 0, i});
    }
  }
  rows.add(OpRow{"launched before the recording", 0, 10});
  const Settings ran = {{"per", "step"}, {"steps", "ran"}};
  const auto in_it = ask("breakdown", rows, ran);
  EXPECT_EQ(lines_of(in_it, "breakdown", {"step", "total_ns", "compute_ns"}),
            (Lines{"ProfilerStep#0|100|20", "ProfilerStep#1|100|90", "ProfilerStep#2|100|10"}));
  ASSERT_EQ(in_it.notes.size(), 3u);
  EXPECT_EQ(in_it.notes[0].substr(0, 62),
            "5 of the 6 operations that the steps launched ran after them; ");
  const auto launched = ask("breakdown", rows, {{"per", "step"}});
  EXPECT_EQ(lines_of(launched, "breakdown",
                     {"step", "gpu_id", "rank", "total_ns", "compute_ns", "idle_ns"}),
            (Lines{"ProfilerStep#0|0|4|300|200|100", "ProfilerStep#1|0|4|310|220|90",
                   "ProfilerStep#2|0|4|320|240|80"}));
}

// A log says when a kernel was launched and not how long it ran: no time is not a time of zero.
TEST(Defects, unknown_durations_are_not_idle_time) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"a", 100, 100});
  rows.add(OpRow{"b", 900, 900});
  for (const char* name : {"breakdown", "busy", "overlap"}) {
    const auto report = ask(name, rows);
    EXPECT_TRUE(report.sections.front().table.rows.empty()) << name;
    EXPECT_TRUE(has(report.sections.front().empty_text, "no operation times")) << name;
  }
  for (const Analysis& analysis : all_analyses()) {
    if (!analysis.needs(Parameters(analysis.options)).ops) continue;
    const auto notes = ask(analysis.name.c_str(), rows).notes;
    const auto says = [](const std::string& note) {
      return note.find("no operation times") != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), says)) << analysis.name;
  }
}

// As --from counts, so that a figure can be given back to it.
TEST(Defects, times_count_from_the_start_of_the_trace) {
  constexpr int64_t kBoot = 4'458'676'000'000'000;
  trace::TraceBuilder rows;
  rows.add(ApiRow{"hip", "hipMalloc", kBoot, kBoot + 10});
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t at = kBoot + 1000 + i * 1'000'000;
    const int64_t length = i == 3 ? 600'000 : 10;
    rows.add(ApiRow{"hip", "hipLaunchKernel", at, at + length},
             OpRow{"k", at + length + 5, at + length + 55});
  }
  EXPECT_EQ(lines_of(ask("launches", rows), "slow_calls", {"call_begin_ns"}), (Lines{"3001000"}));
}

TEST(Idle, Reasons) {
  trace::TraceBuilder rows;
  const auto launch = [&](int64_t begin, int64_t start, int64_t end, int64_t queue = 0) {
    rows.add(ApiRow{"", "hipLaunchKernel", begin, begin + 5}, OpRow{"k", start, end, 0, queue});
  };
  launch(0, 10, 100'000);
  rows.add(ApiRow{"", "hipDeviceSynchronize", 20, 120'000});
  launch(130'000, 150'000, 200'000);  // sync: 20,000, then launch-bound: 30,000
  launch(260'000, 270'000, 300'000);  // launch-bound: 70,000
  launch(280'000, 310'000, 400'000);  // launch latency: 10,000
  rows.add(ApiRow{"", "hipStreamWaitEvent", 330'000, 330'010});
  launch(340'000, 500'000, 600'000);  // dependency: 100,000
  launch(350'000, 700'000, 800'000);  // other: 100,000
  EXPECT_EQ(lines_of(ask("idle", rows), "idle", {"reason", "gaps", "total_ns"}),
            (Lines{"launch-bound|2|100000", "dependency|1|100000", "other|1|100000", "sync|1|20000",
                   "launch latency|1|10000"}));
}

// The call began 60,000 into a gap of 400,000: until then the program was late, after that it was
// not. 29,999 after a call are its latency, and no part of their own.
TEST(Idle, AGapIsCutAtItsLaunch) {
  const auto reasons = [](int64_t start, bool waits) {
    trace::TraceBuilder rows;
    rows.add(ApiRow{"", "hipLaunchKernel", 0, 5}, OpRow{"k", 10, 100'000});
    if (waits) rows.add(ApiRow{"", "hipStreamWaitEvent", 150'000, 150'010});
    rows.add(ApiRow{"", "hipLaunchKernel", 160'000, 160'006}, OpRow{"k", start, start + 10});
    return lines_of(ask("idle", rows), "idle", {"reason", "gaps", "total_ns"});
  };
  EXPECT_EQ(reasons(500'000, false), (Lines{"other|1|340000", "launch-bound|1|60000"}));
  EXPECT_EQ(reasons(500'000, true), (Lines{"dependency|1|340000", "launch-bound|1|60000"}));
  EXPECT_EQ(reasons(189'999, false), (Lines{"launch-bound|1|89999"}));
}

}  // namespace
}  // namespace sonde::analysis
