#include "analysis/analysis_test_support.h"

#include <algorithm>

namespace sonde::analysis {
namespace {

// Kernels of 1 us each, 1 us apart.
void add_kernels(trace::TraceBuilder& rows, const std::string& names, int64_t start_ns = 0,
                 int64_t queue = 0) {
  for (const char name : names) {
    rows.add(OpRow{std::string(1, name), start_ns, start_ns + 1000, 0, queue});
    start_ns += 2000;
  }
}

Lines found(const trace::TraceBuilder& rows, const Settings& settings = {}) {
  return lines_of(ask("sequences", rows, settings), "sequences",
                  {"kernels", "count", "total_ns", "gaps_ns", "launches_saved", "fusion"});
}

TEST(Sequences, EveryKernelIsInOneRow) {
  trace::TraceBuilder rows;
  add_kernels(rows, "abcxabcyabczab");
  EXPECT_EQ(found(rows), (Lines{"a + b + c|3|9000|6000|6|candidate"}));
  EXPECT_EQ(found(rows, {{"length", "2"}}), (Lines{"a + b|4|8000|4000|4|candidate"}));
  EXPECT_EQ(found(rows, {{"count", "5"}}), Lines{});
}

TEST(Sequences, ListWholeNames) {
  trace::TraceBuilder rows;
  for (int64_t i = 0; i < 6; ++i) {
    rows.add(OpRow{i % 2 == 0 ? "void gemm<float>(float*)" : "relu", i * 2000, i * 2000 + 1000});
  }
  const report::Report report = ask("sequences", rows, {{"names", "yes"}, {"length", "2"}});
  EXPECT_EQ(lines_of(report, "sequences", {"sequence", "kernels"}), (Lines{"1|gemm + relu"}));
  EXPECT_EQ(lines_of(report, "names", {"sequence", "name"}),
            (Lines{"1|void gemm<float>(float*)", "1|relu"}));
}

// Kernels of one template, and names that the demangler does not know.
TEST(Sequences, NamesTellKernelsApart) {
  const std::string wide =
      "void at::native::vectorized_elementwise_kernel<4, at::native::" + std::string(60, 'x') +
      "<at::native::";
  trace::TraceBuilder rows;
  int64_t t = 0;
  const auto add = [&](const std::string& name) {
    rows.add(OpRow{name, t, t + 1000});
    t += 2000;
  };
  for (int i = 0; i < 3; ++i) {
    add(wide + "AbsFunctor<float>>>(int)");
    add("_ZN7ck_tile6kentryIDF99_notatypeEEvPT_");
    add("void " + std::string(i, ' ') + "ends" + std::to_string(i) + "()");
  }
  for (int i = 0; i < 3; ++i) {
    add(wide + "AddFunctor<float>>>(int)");
    add("_ZN7ck_tile6kentryIDF99_notatypeEEvPT_");
    add("ends again" + std::to_string(i));
  }
  Lines names;
  const report::Report report = ask("sequences", rows);
  for (const auto& row : section_of(report, "sequences").table.rows) {
    names.push_back(cell_text(row[1]));
  }
  EXPECT_EQ(names, (Lines{"vectorized_elementwise_kernel<..AbsFunctor..> + kentry",
                          "vectorized_elementwise_kernel<..AddFunctor..> + kentry"}));
}

TEST(Sequences, DoNotOverlapThemselves) {
  trace::TraceBuilder rows;
  add_kernels(rows, "aaaaaaaaa");
  EXPECT_EQ(found(rows, {{"length", "3"}}), (Lines{"a + a + a|3|9000|6000|6|candidate"}));
}

TEST(Sequences, EndWithTheQueueAndAtAGap) {
  trace::TraceBuilder rows;
  add_kernels(rows, "ab", 0, 1);
  add_kernels(rows, "ab", 0, 2);
  add_kernels(rows, "ab", 1'000'000, 1);
  EXPECT_EQ(found(rows), (Lines{"a + b|3|6000|3000|3|candidate"}));
  EXPECT_EQ(found(rows, {{"gap", "500ns"}}), Lines{});
}

TEST(Sequences, LongKernelsAndCommunicationAreNoCandidates) {
  trace::TraceBuilder rows;
  for (int64_t i = 0; i < 3; ++i) {
    rows.add(OpRow{"gemm", i * 100000, i * 100000 + 50000});
    rows.add(OpRow{"relu", i * 100000 + 50000, i * 100000 + 51000});
  }
  EXPECT_EQ(found(rows, {{"length", "2"}, {"gap", "10us"}}), (Lines{"gemm + relu|3|153000|0|3|-"}));
  EXPECT_EQ(found(rows, {{"length", "2"}, {"gap", "10us"}, {"short", "60us"}}),
            (Lines{"gemm + relu|3|153000|0|3|candidate"}));
}

// Against counting by hand: of every length, how often the best sequence comes.
TEST(Sequences, CountsEqualThoseOfTheDefinition) {
  for (uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    std::string names;
    for (int i = 0; i < 60; ++i) names += static_cast<char>('a' + random() % 3);
    trace::TraceBuilder rows;
    add_kernels(rows, names);
    size_t best = 0;
    for (size_t length = 2; length <= 4; ++length) {
      for (size_t i = 0; i + length <= names.size(); ++i) {
        const std::string wanted = names.substr(i, length);
        size_t count = 0;
        for (size_t at = names.find(wanted); at != names.npos;
             at = names.find(wanted, at + length)) {
          ++count;
        }
        if (count >= 3) best = std::max(best, count * (length - 1));
      }
    }
    const report::Report report = ask("sequences", rows, {{"length", "4"}}, seed);
    const report::Table& table = section_of(report, "sequences").table;
    EXPECT_EQ(number(table, 0, "launches_saved"), static_cast<int64_t>(best)) << "seed " << seed;
    EXPECT_LE(sum_of(table, "total_ns"), 60 * 1000);  // no kernel in two rows
  }
}

TEST(Variability, TheSameKernelInTwoPlacesDoesNotVary) {
  trace::TraceBuilder rows;
  int64_t t = 0;
  const auto add = [&](const char* name, int64_t length) {
    rows.add(OpRow{name, t, t + length});
    t += 1000;
  };
  for (int i = 0; i < 10; ++i) {
    add("first", 10);
    add("k", 100);
    add("second", 10);
    add("k", 300);
  }
  const auto spread = [&](const char* context) {
    return lines_of(ask("variability", rows, {{"context", context}, {"count", "5"}}), "variability",
                    {"name", "after", "calls", "excess_ns", "p5_ns", "cv"});
  };
  EXPECT_EQ(spread("0").at(0), "k||20|2000|100|0.513");
  for (const std::string& line : spread("1")) EXPECT_TRUE(has(line, "|0|"));
  EXPECT_EQ(spread("1").size(), 4u);
}

TEST(Variability, ExcessAndDrift) {
  trace::TraceBuilder rows;
  // 100, 110, ... 190: the mean is 145, the line rises by 90 from the first to the last.
  for (int64_t i = 0; i < 10; ++i) rows.add(OpRow{"k", i * 1000, i * 1000 + 100 + i * 10});
  const report::Report report = ask("variability", rows, {{"context", "0"}});
  EXPECT_EQ(lines_of(report, "variability",
                     {"calls", "excess_ns", "p5_ns", "median_ns", "mean_ns", "p95_ns",
                      "p95_by_median", "drift_percentage"}),
            (Lines{"10|450|100|145|145|190|1.31|62.07"}));
}

// A clock that falls from 2000 to 1000 while the kernel takes twice as long.
TEST(Variability, DriftBesideTheClock) {
  trace::TraceBuilder rows;
  for (int64_t i = 0; i < 20; ++i) {
    rows.add(OpRow{"k", i * 1000, i * 1000 + (i < 10 ? 100 : 200), i == 19 ? 1 : 0});
  }
  trace::Trace trace = rows.build(0, find_analysis("variability")->needs({}));
  trace.monitors = {{"sclk", 0, {{{1000, 9500}, 2000}, {{9500, 30'000}, 1000}}},
                    {"sclk", 1, {{{25'000, 30'000}, 9999}}}};  // after all of them
  const auto report = value_of(answer("variability", trace, {{"context", "0"}, {"count", "10"}}));
  // 9 calls at 2000 and 9 at 1000: the first came before the first reading, the last has another
  // GPU.
  EXPECT_EQ(lines_of(report, "sensors", {"name", "sensor", "calls", "reading", "correlation"}),
            (Lines{"k|sclk|18|1500|-1"}));
  const auto& row = section_of(report, "sensors").table.rows.at(0);
  EXPECT_LT(std::get<double>(row[5]), -50);
  EXPECT_EQ(ask("variability", rows).sections.size(), 1u);
}

TEST(Variability, SaysWhatIsMissing) {
  const report::Report none = ask("variability", trace::TraceBuilder());
  EXPECT_EQ(section_of(none, "variability").empty_text, "No kernels.");
  trace::TraceBuilder one;
  one.add(OpRow{"k", 0, 10});
  EXPECT_EQ(section_of(ask("variability", one), "variability").empty_text,
            "No kernel occurs that often in one place.");
  EXPECT_EQ(section_of(ask("sequences", one), "sequences").empty_text,
            "No kernels follow each other that often.");
}

}  // namespace
}  // namespace sonde::analysis
