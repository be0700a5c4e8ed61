#include "serve/sampled.h"

#include <gtest/gtest.h>

#include <tuple>

namespace sonde::serve {
namespace {

// Frames 0 (main), 1 and 2 (both called by it): nodes 0, 1 and 2 of the tree.
trace::Trace trace_of(const std::vector<std::tuple<int64_t, int64_t, uint32_t, int32_t>>& samples) {
  trace::Trace trace;
  trace.names = {"", "main", "forward", "backward"};
  for (const uint32_t function : {1u, 2u, 3u}) trace.stacks.frames.push_back({function, 0});
  trace.stacks.parent = {trace::kNone, 0, 0};
  trace.stacks.frame = {0, 1, 2};
  for (const auto& [time_ns, cpu_ns, thread, stack] : samples) {
    trace.samples.time_ns.push_back(time_ns);
    trace.samples.cpu_ns.push_back(cpu_ns);
    trace.samples.thread.push_back(thread);
    trace.samples.stack.push_back(stack);
  }
  return trace;
}

using Row = std::tuple<int64_t, int64_t, uint32_t, uint32_t, int64_t>;
std::vector<Row> rows_of(const trace::Trace& trace) {
  std::vector<Row> rows;
  for (const SampledFrame& each : sampled_frames(trace)) {
    rows.emplace_back(each.time.start_ns, each.time.end_ns, each.frame, each.thread, each.cpu_ns);
  }
  return rows;
}

TEST(SampledFrames, JoinWhatStaysTheSameAndKeepCallersAroundIt) {
  const std::vector<Row> expected = {
      {90, 120, 0, 0, 30}, {90, 110, 1, 0, 20}, {110, 120, 2, 0, 10}};
  EXPECT_EQ(rows_of(trace_of({{100, 10, 0, 1}, {110, 10, 0, 1}, {120, 10, 0, 2}})), expected);
}

TEST(SampledFrames, EndWhereTheThreadDidNotRun) {
  // 4 ns apart is the inaccuracy of sampling, 15 is a short wait in the same function, 110 is a
  // long one.
  const std::vector<Row> expected = {
      {90, 139, 0, 0, 30}, {90, 114, 1, 0, 20}, {129, 139, 2, 0, 10}, {249, 259, 0, 0, 10}};
  EXPECT_EQ(rows_of(trace_of({{100, 10, 0, 1}, {114, 10, 0, 1}, {139, 10, 0, 2}, {259, 10, 0, 0}})),
            expected);
}

TEST(SampledFrames, DoNotOverlapWhereMoreCpuTimeThanTimeHasPassed) {
  const std::vector<Row> expected = {{90, 105, 0, 0, 20}};
  EXPECT_EQ(rows_of(trace_of({{100, 10, 0, 0}, {105, 10, 0, 0}})), expected);
}

TEST(SampledFrames, AreOfEachThread) {
  const std::vector<Row> expected = {{90, 110, 0, 0, 20}, {95, 105, 0, 1, 10}};
  EXPECT_EQ(rows_of(trace_of({{100, 10, 0, 0}, {105, 10, 1, 0}, {110, 10, 0, 0}})), expected);
}

TEST(SampledFrames, LeaveAFrameThatIsCalledAgain) {
  const std::vector<Row> expected = {
      {90, 120, 0, 0, 30}, {90, 100, 1, 0, 10}, {110, 120, 1, 0, 10}};
  EXPECT_EQ(rows_of(trace_of({{100, 10, 0, 1}, {110, 10, 0, 0}, {120, 10, 0, 1}})), expected);
}

TEST(SampledFrames, OfPythonAreTheSameOnEachLineAndWithoutTheInterpreter) {
  trace::Trace trace = trace_of({{100, 10, 0, 3}, {110, 10, 0, 4}});
  const uint32_t main = 1;
  trace.stacks.frames.push_back({main, 0, 7, trace::FrameKind::kPython});
  trace.stacks.frames.push_back({main, 0, 8, trace::FrameKind::kPython});
  trace.stacks.frames.push_back({.function = 2, .is_interpreter = true});
  trace.stacks.parent = {trace::kNone, 0, 0, trace::kNone, trace::kNone, 3};
  trace.stacks.frame = {0, 1, 2, 3, 4, 5};
  trace.samples.stack[0] = 5;
  const std::vector<Row> expected = {{90, 110, 3, 0, 20}};
  EXPECT_EQ(rows_of(trace), expected);
}

}  // namespace
}  // namespace sonde::serve
