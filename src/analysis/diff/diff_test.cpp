#include "analysis/diff/diff.h"

#include "analysis/analysis_test_support.h"
#include "base/test_support.h"
#include "trace/other_tools.h"

namespace sonde::analysis {
namespace {

int64_t fact(const report::Section& section, const std::string& key) {
  for (const report::Fact& fact : section.facts) {
    if (fact.key == key && std::holds_alternative<int64_t>(fact.value)) {
      return std::get<int64_t>(fact.value);
    }
  }
  ADD_FAILURE() << "no fact " << key;
  return 0;
}

report::Report compare(const trace::TraceBuilder& a, const trace::TraceBuilder& b) {
  return diff_report(a.build(1, diff_needs()), b.build(2, diff_needs()));
}

void expect_adds_up(const report::Report& report) {
  const report::Section& wall = section_of(report, "wall");
  EXPECT_EQ(fact(wall, "delta_ns"), fact(wall, "wall_b_ns") - fact(wall, "wall_a_ns"));
  EXPECT_EQ(fact(wall, "delta_ns"), fact(wall, "explained_ns") + fact(wall, "unexplained_ns"));
  EXPECT_EQ(fact(wall, "explained_ns"), sum_of(wall.table, "delta_ns"));
  const report::Table& operations = section_of(report, "operations").table;
  const report::Table& tree = section_of(report, "tree").table;
  for (const char* side : {"a", "b"}) {  // each operation is in one row of the tree
    EXPECT_EQ(sum_of(operations, std::string("calls_") + side),
              sum_of(tree, std::string("ops_") + side));
    EXPECT_EQ(sum_of(operations, fmt::format("total_{}_ns", side)),
              sum_of(tree, fmt::format("gpu_{}_ns", side)));
  }
}

// 100 of wall: 10 in the convolution before the launch, 40 of k, 30 in a synchronisation after it,
// and 20 in nothing.
trace::TraceBuilder program(const char* convolution, const char* kernel, int64_t kernel_ns) {
  trace::TraceBuilder rows;
  rows.add(
      ApiRow{"user_annotation", "ProfilerStep#" + std::to_string(kernel_ns), 0, 60 + kernel_ns});
  rows.add(ApiRow{"cpu_op", "aten::conv", 0, 20});
  rows.add(ApiRow{"cpu_op", convolution, 0, 19});
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 10, 19}, OpRow{kernel, 10, 10 + kernel_ns});
  rows.add(ApiRow{"cuda_runtime", "hipDeviceSynchronize", 30, 40 + kernel_ns});
  return rows;
}

TEST(Diff, PartsOfTheWallTime) {
  const WallParts parts =
      wall_parts(program("aten::miopen_convolution", "k", 40).build(0, diff_needs()));
  EXPECT_EQ(parts.wall_ns, 100);
  EXPECT_EQ(parts.busy_ns, (std::map<std::string, int64_t>{{"k", 40}}));
  EXPECT_EQ(parts.idle_ns, (std::map<std::string, int64_t>{{"aten::miopen_convolution", 10},
                                                           {"hipDeviceSynchronize", 30}}));
  EXPECT_EQ(parts.nothing_ns, 20);
}

TEST(Diff, RatiosOfVeryDifferentTracesAreNotNone) {
  trace::TraceBuilder a, b;
  a.add(OpRow{"k", 0, 1'000'000});
  b.add(OpRow{"k", 0, 221});
  const report::Report report = compare(a, b);
  const auto verdict = std::get<std::string>(section_of(report, "wall").facts.at(0).value);
  EXPECT_EQ(verdict.find("B takes 0.000221 times as long"), 0u) << verdict;
}

TEST(Diff, VerdictExplainedAndRenamedOperators) {
  const report::Report report = compare(program("aten::miopen_convolution", "k1", 40),
                                        program("aten::cudnn_convolution", "k2", 140));
  expect_adds_up(report);
  const report::Section& wall = section_of(report, "wall");
  EXPECT_EQ(std::get<std::string>(wall.facts.at(0).value),
            "B takes 2.000 times as long as A, +100 ns: GPU work +100 ns, calls while no GPU works "
            "+0 ns, neither +0 ns");
  EXPECT_EQ(lines_of(wall.table, {"what", "name", "delta_ns"}),
            (Lines{"busy|k2|140", "busy|k1|-40", "idle|aten::cudnn_convolution|10",
                   "idle|aten::miopen_convolution|-10", "idle|hipDeviceSynchronize|0"}));
  EXPECT_EQ(lines_of(report, "operations", {"name", "change", "delta_ns"}),
            (Lines{"k2|added|140", "k1|removed|-40"}));
  EXPECT_EQ(lines_of(report, "tree", {"path", "gpu_a_ns", "gpu_b_ns"}),
            (Lines{"ProfilerStep# / aten::conv / aten::miopen_convolution => "
                   "aten::cudnn_convolution|40|140"}));
}

// A helper waits in one frame from start to end, and its time says nothing of the GPU. The thread
// that launches is asked first; then that with more calls; the helper has what is left.
TEST(Diff, IdleTimeIsOfTheThreadThatLaunches) {
  trace::TraceBuilder rows = program("aten::miopen_convolution", "k", 40);
  rows.add(ApiRow{"python_function", "threading.py(359): wait", 0, 100, 2});
  rows.add(ApiRow{"python_function", "queue.py(154): get", 82, 84, 3});
  rows.add(ApiRow{"python_function", "queue.py(154): get", 84, 86, 3});
  const WallParts parts = wall_parts(rows.build(0, diff_needs()));
  EXPECT_EQ(parts.idle_ns, (std::map<std::string, int64_t>{{"aten::miopen_convolution", 10},
                                                           {"hipDeviceSynchronize", 30},
                                                           {"queue.py(154): get", 4},
                                                           {"threading.py(359): wait", 16}}));
  EXPECT_EQ(parts.nothing_ns, 0);
}

// A range around all that a program does says nothing; one of a data loader does.
TEST(Diff, IdleTimeInADataLoaderIsExplained) {
  trace::TraceBuilder rows = program("aten::miopen_convolution", "k", 40);
  rows.add(ApiRow{"user_annotation", "enumerate(DataLoader)#next", 80, 95});
  const WallParts parts = wall_parts(rows.build(0, diff_needs()));
  EXPECT_EQ(parts.idle_ns, (std::map<std::string, int64_t>{{"aten::miopen_convolution", 10},
                                                           {"enumerate(DataLoader)#next", 15},
                                                           {"hipDeviceSynchronize", 30}}));
  EXPECT_EQ(parts.nothing_ns, 5);
}

// What a name begins with is not a word that operators share.
TEST(Diff, OperatorsOfOneNamespaceAreNotRenamed) {
  const report::Report report =
      compare(program("autograd::evaluate_function: MeanBackward0", "k", 40),
              program("autograd::evaluate_function: AddBackward0", "k", 40));
  EXPECT_EQ(lines_of(report, "tree", {"path", "ops_a", "ops_b"}),
            (Lines{"ProfilerStep# / aten::conv / autograd::evaluate_function: MeanBackward0|1|0",
                   "ProfilerStep# / aten::conv / autograd::evaluate_function: AddBackward0|0|1"}));
}

TEST(Diff, TimeOfSeveralOperationsCountsOnce) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"first", 0, 100, 0, 1});
  rows.add(OpRow{"second", 50, 150, 1, 2});
  rows.add(OpRow{"inside", 60, 70, 0, 3});
  const WallParts parts = wall_parts(rows.build(0, diff_needs()));
  EXPECT_EQ(parts.busy_ns, (std::map<std::string, int64_t>{{"first", 100}, {"second", 50}}));
  EXPECT_EQ(parts.wall_ns, 150);
}

TEST(Diff, IdenticalTracesHaveNoDifference) {
  const trace::TraceBuilder rows = program("aten::a", "k", 50);
  const report::Report report = compare(rows, rows);
  EXPECT_EQ(fact(section_of(report, "wall"), "delta_ns"), 0);
  EXPECT_EQ(fact(section_of(report, "operations"), "unchanged"), 1);
  for (const auto& section : report.sections) {
    for (size_t row = 0; row < section.table.rows.size(); ++row) {
      EXPECT_EQ(number(section.table, row, "delta_ns"), 0);
    }
  }
}

TEST(Diff, SaysWhatIsMissing) {
  const report::Report report = compare(trace::TraceBuilder(), program("aten::a", "k", 50));
  EXPECT_EQ(std::get<std::string>(section_of(report, "wall").facts.at(0).value),
            "one of the traces has no events");
  EXPECT_EQ(fact(section_of(report, "operations"), "added"), 1);
}

// Generated: whatever the traces are, the parts add up.
TEST(Diff, PartsAddUp) {
  const auto generate = [](uint32_t seed) {
    std::mt19937 random(seed);
    trace::TraceBuilder rows;
    for (int i = 0; i < 40; ++i) {
      const auto start = static_cast<int64_t>(random() % 1000);
      const auto tid = static_cast<int64_t>(random() % 3);
      rows.add(ApiRow{"cpu_op", "aten::op" + std::to_string(random() % 6), start,
                      start + static_cast<int64_t>(random() % 100), tid});
      const int api =
          rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", start + 1, start + 5, tid});
      const auto begin = start + static_cast<int64_t>(random() % 200);
      OpRow op{"k" + std::to_string(random() % 5), begin,
               begin + static_cast<int64_t>(random() % 60)};
      op.api = random() % 5 == 0 ? trace::kNone : api;
      op.gpu = static_cast<int64_t>(random() % 2);
      op.queue = static_cast<int64_t>(random() % 3);
      rows.add(op);
    }
    return rows;
  };
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    const WallParts parts = wall_parts(generate(seed).build(0, diff_needs()));
    int64_t sum = parts.nothing_ns;
    for (const auto& [name, time_ns] : parts.busy_ns) sum += time_ns;
    for (const auto& [name, time_ns] : parts.idle_ns) sum += time_ns;
    ASSERT_EQ(sum, parts.wall_ns) << "seed " << seed;
    expect_adds_up(compare(generate(seed), generate(seed + 1)));
  }
}

// Figures counted in the files' JSON by a script: names by category, calls, sums of "dur".
TEST(Diff, ControlAndTestOfARealModel) {
  const std::string control = test::real_file("kineto/diff_control.json.gz");
  const std::string changed = test::real_file("kineto/diff_test.json.gz");
  if (control.empty() || changed.empty()) GTEST_SKIP() << "no diff_control and diff_test";
  const auto a = trace::load_file(control, "kineto", diff_needs(), {});
  const auto b = trace::load_file(changed, "kineto", diff_needs(), {});
  ASSERT_TRUE(a.ok() && b.ok());
  const report::Report report = diff_report(*a, *b);
  expect_adds_up(report);
  struct Counts {
    const char* section;
    int64_t added, removed, increased, decreased, unchanged, total_a_us, total_b_us;
  };
  for (const Counts& expected : {Counts{"operators", 3, 72, 17, 49, 38, 828341, 1544919},
                                 Counts{"operations", 27, 66, 54, 8, 46, 501567, 963762}}) {
    const report::Section& section = section_of(report, expected.section);
    EXPECT_EQ(fact(section, "added"), expected.added) << expected.section;
    EXPECT_EQ(fact(section, "removed"), expected.removed) << expected.section;
    EXPECT_EQ(fact(section, "increased"), expected.increased) << expected.section;
    EXPECT_EQ(fact(section, "decreased"), expected.decreased) << expected.section;
    EXPECT_EQ(fact(section, "unchanged"), expected.unchanged) << expected.section;
    EXPECT_EQ(sum_of(section.table, "total_a_ns"), expected.total_a_us * 1000);
    EXPECT_EQ(sum_of(section.table, "total_b_ns"), expected.total_b_us * 1000);
  }
  const Lines operators = lines_of(
      report, "operators", {"name", "change", "calls_a", "calls_b", "total_a_ns", "total_b_ns"});
  EXPECT_EQ(operators.at(0), "aten::item|unchanged|30|30|36976000|207461000");
  EXPECT_EQ(operators.at(2), "aten::copy_|increased|444|5232|44387000|192021000");
  EXPECT_EQ(operators.at(3), "CompiledFunction|added|0|6|0|78388000");
  EXPECT_EQ(lines_of(report, "operations",
                     {"name", "change", "calls_a", "calls_b", "total_a_ns", "total_b_ns"})
                .at(0),
            "Memcpy DtoD (Device -> Device)|increased|18|4645|2735000|92932000");
}

}  // namespace
}  // namespace sonde::analysis
