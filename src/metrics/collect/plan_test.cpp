#include "metrics/collect/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sonde::metrics {
namespace {

constexpr const char* kCounters =
    "# a comment\n"
    "limit | SQ 2 | TCC 1\n"
    "SQ_A | SQ | gfx90a=1 gfx908=7 | count | exact | a\n"
    "SQ_B | SQ | gfx90a=2 | count | exact | b\n"
    "SQ_C | SQ | gfx90a=3 | count | no | c\n"
    "SQ_LEVEL | SQ | gfx90a=4 | time | no | d\n"
    "SQ_ACCUM_PREV_HIRES | SQ | gfx90a=185 | time | no | e\n"
    "TCC_H | TCC | gfx90a=17 gfx908=17 | traffic | modelled | f\n";

Catalogue catalogue() {
  auto parsed = parse_catalogue(kCounters, "test");
  EXPECT_TRUE(parsed) << parsed.error().to_line();
  return *parsed;
}

std::vector<std::vector<std::string>> names(const Plan& plan) {
  std::vector<std::vector<std::string>> all;
  for (const Pass& pass : plan.passes) {
    all.emplace_back();
    for (const PlannedCounter& each : pass) all.back().push_back(each.name);
  }
  return all;
}

using Passes = std::vector<std::vector<std::string>>;

TEST(Plan, FillsEachBlockAndSaysWhy) {
  const Catalogue known = catalogue();
  const Plan plan = plan_passes(known, {"TCC_H_sum", "SQ_C", "SQ_A", "SQ_B", "Start_Timestamp"},
                                {.gpus = {"gfx90a"}});
  EXPECT_EQ(names(plan), (Passes{{"SQ_A", "SQ_B", "TCC_H"}, {"SQ_C"}}));
  EXPECT_EQ(plan.reason, "SQ has 2 of 3 at a time");
  EXPECT_EQ(request_of(plan, 1),
            "1;gfx908=SQ:7:SQ_A,TCC:17:TCC_H;gfx90a=SQ:1:SQ_A,SQ:2:SQ_B,TCC:17:TCC_H");
  EXPECT_EQ(request_of(plan, 2), "2;gfx90a=SQ:3:SQ_C");
}

TEST(Plan, ALevelIsAddedUpInAPassOfItsOwn) {
  const Catalogue known = catalogue();
  const Plan plan = plan_passes(known, {"SQ_A", "SQ_LEVEL_ACCUM"}, {.gpus = {"gfx90a"}});
  EXPECT_EQ(names(plan), (Passes{{"SQ_A"}, {"SQ_LEVEL", "SQ_LEVEL_ACCUM"}}));
  EXPECT_EQ(plan.reason, "1 counter with levels takes one each");
  EXPECT_EQ(request_of(plan, 2), "2;gfx90a=SQ:4:SQ_LEVEL,SQ:185:SQ_LEVEL_ACCUM");
}

TEST(Plan, WhatTheGpusDoNotCountIsMissing) {
  const Catalogue known = catalogue();
  Plan plan = plan_passes(known, {"SQ_A", "SQ_B"}, {.gpus = {"gfx908"}});
  EXPECT_EQ(names(plan), (Passes{{"SQ_A"}}));
  EXPECT_EQ(plan.missing, (std::vector<std::string>{"SQ_B"}));
  plan = plan_passes(known, {"SQ_C", "SQ_LEVEL_ACCUM"}, {.gpus = {"gfx90a"}, .softgpu = true});
  EXPECT_TRUE(plan.passes.empty());
  EXPECT_EQ(plan.missing, (std::vector<std::string>{"SQ_C", "SQ_LEVEL"}));
}

TEST(Plan, ASinglePassTellsWhatItLeavesOut) {
  const Catalogue known = catalogue();
  const Plan plan = plan_passes(known, {"SQ_A", "SQ_B", "SQ_C", "SQ_LEVEL_ACCUM"},
                                {.gpus = {"gfx90a"}, .single_pass = true});
  EXPECT_EQ(names(plan), (Passes{{"SQ_A", "SQ_B"}}));
  EXPECT_EQ(plan.dropped, (std::vector<std::string>{"SQ_C", "SQ_LEVEL", "SQ_LEVEL_ACCUM"}));
}

TEST(Catalogue, LinesThatDescribeNoCounterAreRefused) {
  for (const char* line : {"SQ_A | SQ | gfx90a=1 | count | exact", "limit | SQ", "limit | SQ 0",
                           "limit | SQ 2\nA | TA | gfx90a=1 | count | exact | a",
                           "limit | SQ 2\nA | SQ | gfx90a | count | exact | a"}) {
    EXPECT_FALSE(parse_catalogue(line, "test")) << line;
  }
}

TEST(Catalogue, EachSetFitsIntoPasses) {
  auto known = counter_catalogue();
  ASSERT_TRUE(known) << known.error().to_line();
  EXPECT_EQ(known->counters.size(), 258u);
  size_t before = 0;
  for (const char* set : {"roofline", "all"}) {
    auto wanted = names_of_set(set, "gfx90a");
    ASSERT_TRUE(wanted) << wanted.error().to_line();
    const Plan plan = plan_passes(*known, *wanted, {.gpus = {"gfx90a"}});
    EXPECT_GT(wanted->size(), before) << set;
    before = wanted->size();
    for (const Pass& pass : plan.passes) {
      for (const auto& [block, most] : known->limits) {
        const auto in_block = [&block = block](const PlannedCounter& each) {
          return each.counter->block == block;
        };
        EXPECT_LE(std::count_if(pass.begin(), pass.end(), in_block), most) << set << " " << block;
      }
    }
  }
  EXPECT_FALSE(names_of_set("none", "gfx90a"));
  EXPECT_FALSE(names_of_set("sol", "gfx1030"));
}

}  // namespace
}  // namespace sonde::metrics
