#include "trace/steps.h"

#include <gtest/gtest.h>

#include "trace/trace_builder_test_support.h"

namespace sonde::trace {
namespace {

std::vector<std::string> names_of(const Steps& steps) {
  std::vector<std::string> names;
  for (const Step& step : steps.steps) names.push_back(step.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Steps, ProfilerStepsOfEachProcess) {
  TraceBuilder rows;
  rows.add(TraceBuilder::Api{"user_annotation", "ProfilerStep#2", 100, 200});
  rows.add(TraceBuilder::Api{"user_annotation", "ProfilerStep#1", 0, 100});
  rows.add(TraceBuilder::Api{"user_annotation", "Optimizer.step#SGD.step", 50, 60});
  rows.add(TraceBuilder::Api{"gpu_user_annotation", "ProfilerStep#1", 10, 150, 7, 0});
  const auto steps = find_steps(rows.build(3), "");
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(names_of(*steps), (Names{"ProfilerStep#1", "ProfilerStep#2"}));
  EXPECT_EQ(steps->steps[1].time, (Interval{100, 200}));
  const auto own = find_steps(rows.build(3), "^Optimizer");
  ASSERT_TRUE(own.ok());
  EXPECT_EQ(names_of(*own), (Names{"Optimizer.step#SGD.step"}));
  EXPECT_FALSE(find_steps(rows.build(), "(").ok());
}

using Ranges = std::vector<TraceBuilder::Api>;

Names steps_of(const Ranges& ranges) {
  TraceBuilder rows;
  for (const TraceBuilder::Api& range : ranges) rows.add(range);
  const auto steps = find_steps(rows.build(), "");
  return steps.ok() ? names_of(*steps) : Names{"not ok"};
}

// A number that comes again is another step all the same.
TEST(Steps, NumberedRangesOfAProgramWithoutOperations) {
  EXPECT_EQ(steps_of({{"", "train_step 1", 0, 100, 1, 1, "nvtx"},
                      {"", "train_step 2", 110, 200, 1, 1, "nvtx"},
                      {"", "train_step 1", 200, 300, 1, 1, "nvtx"},
                      {"", "step", 300, 400, 1, 1, "nvtx"},
                      {"", "two step 4", 400, 500, 1, 1, "nvtx"}}),
            (Names{"train_step 1", "train_step 2", "train_step 1"}));
}

TEST(Steps, NumberedRangesThatAreNoIterations) {
  using R = TraceBuilder::Api;
  const R one = {"", "step 1", 0, 100, 1, 1, "nvtx"}, two = {"", "step 2", 110, 200, 1, 1, "nvtx"};
  EXPECT_EQ(steps_of({one, two}), (Names{"step 1", "step 2"}));
  EXPECT_EQ(steps_of({one}), Names{});
  EXPECT_EQ(steps_of({one, R{"", "iteration 2", 110, 200, 1, 1, "nvtx"}}), Names{});  // two series
  EXPECT_EQ(steps_of({one, R{"", "step 2", 210, 300, 1, 1, "nvtx"}}), Names{});  // most is between
  EXPECT_EQ(
      steps_of({R{"", "step 1", 0, 100, 2, 1, "nvtx"}, R{"", "step 2", 110, 200, 2, 1, "nvtx"}}),
      Names{});
  TraceBuilder rows;  // what its operations repeat is told by them
  rows.add(one);
  rows.add(two);
  rows.add(TraceBuilder::Op{"kernel", 10, 20});
  EXPECT_EQ(names_of(*find_steps(rows.build(), "")), Names{});
}

TEST(Steps, NamesOfIterations) {
  EXPECT_EQ(iteration_stem("Train step 7"), "Train step ");
  EXPECT_EQ(iteration_stem("iteration_12"), "iteration_");
  EXPECT_EQ(iteration_stem("iter#3"), "iter#");
  for (const char* name : {"step", "layer 3", "two step 4", "batch 3", "7", ""}) {
    EXPECT_EQ(iteration_stem(name), "") << name;
  }
}

TEST(Steps, OneInsideAnotherIsNoStep) {
  TraceBuilder rows;
  rows.add(TraceBuilder::Api{"", "step outer", 0, 100, 1, 1, "roctx"});
  rows.add(TraceBuilder::Api{"", "step inner", 10, 20, 1, 1, "roctx"});
  const auto steps = find_steps(rows.build(), "step");
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(names_of(*steps), (Names{"step outer"}));
}

TEST(Steps, PeriodOfKernels) {
  TraceBuilder rows;
  int64_t t = 0;
  const auto run = [&](const std::string& name) {
    rows.add(TraceBuilder::Op{name, t, t + 5});
    t += 10;
  };
  run("warm up");
  run("warm up too");
  for (int step = 0; step < 6; ++step) {
    for (int kernel = 0; kernel < 12; ++kernel) run("layer" + std::to_string(kernel % 5 * kernel));
  }
  const auto steps = find_steps(rows.build(5), "");
  ASSERT_TRUE(steps.ok());
  ASSERT_EQ(steps->steps.size(), 6u);
  EXPECT_EQ(steps->steps[0].time, (Interval{20, 140}));
  EXPECT_EQ(steps->steps[5].time, (Interval{620, t - 5}));
  EXPECT_NE(steps->source.find("12 kernels"), std::string::npos);
}

// 60 launches, one in 10 ns, of five kernels in turn; the first one of each turn is long.
TEST(Steps, MarkersOfServersCountIfMostIsLaunchedInThem) {
  using R = TraceBuilder::Api;
  const auto first_of = [](const Ranges& ranges) {
    TraceBuilder rows;
    for (const R& range : ranges) rows.add(range);
    for (int64_t at = 0; at < 600; at += 10) {
      const int64_t lasts = at % 50 == 0 ? 6 : 1;
      rows.add(R{"cuda_runtime", "cudaLaunchKernel", at, at + 1},
               TraceBuilder::Op{"k" + std::to_string(at % 50), at + 3, at + 3 + lasts});
      rows.add(R{"cuda_runtime", "cudaLaunchKernel", at, at + 1, 9, 9},
               TraceBuilder::Op{"other", at + 3, at + 9, 1});
    }
    const auto steps = find_steps(rows.build(), "");
    return steps.ok() && !steps->steps.empty() ? steps->steps[0].name : "none";
  };
  EXPECT_EQ(first_of({}), "period 1");
  EXPECT_EQ(first_of({R{"", "execute_model", 0, 600, 1, 1, "roctx"}}), "execute_model");
  EXPECT_EQ(first_of({R{"", "execute_setup", 0, 100, 1, 1, "roctx"}}), "period 1");
  Ranges graphs;  // few launches, most of the time
  for (int64_t at = 0; at < 600; at += 50) {
    graphs.push_back(R{"", "execute_graph", at, at + 9, 1, 1, "roctx"});
  }
  EXPECT_EQ(first_of(graphs), "execute_graph");
}

TEST(Steps, ThePeriodIsTheShortest) {
  for (const size_t period : {2u, 3u, 5u, 7u, 8u, 30u}) {
    std::vector<NameId> sequence(20 * period + 24);
    for (size_t i = 0; i < sequence.size(); ++i) sequence[i] = static_cast<NameId>(i % period);
    EXPECT_EQ(period_of(sequence), period);
  }
}

// A token of a language model: 80 layers of 6 or 12 kernels, and 4 kernels outside of layers.
TEST(Steps, LayersAreNoSteps) {
  for (const size_t kernels : {6u, 12u, 24u}) {
    std::vector<NameId> sequence;
    for (int token = 0; token < 12; ++token) {
      for (size_t i = 0; i < 80 * kernels; ++i)
        sequence.push_back(static_cast<NameId>(i % kernels));
      for (NameId i = 100; i < 104; ++i) sequence.push_back(i);
    }
    EXPECT_EQ(period_of(sequence), 80 * kernels + 4);
  }
}

TEST(Steps, NoPeriodInNoiseNorInOneKernel) {
  std::mt19937 random(1);
  std::vector<NameId> noise(4000);
  for (NameId& name : noise) name = random() % 50;
  EXPECT_EQ(period_of(noise), 0u);
  EXPECT_EQ(period_of(std::vector<NameId>(1000, 3)), 0u);
  EXPECT_EQ(period_of({}), 0u);
  const auto none = find_steps(TraceBuilder().build(), "");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->steps.empty());
  EXPECT_EQ(none->source, "");
}

}  // namespace
}  // namespace sonde::trace
