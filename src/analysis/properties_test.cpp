// What holds for every trace, on generated ones: several GPUs, queues, ranks, nested operators,
// all categories, operations without a call, of no length, and with equal times.
#include <algorithm>
#include <map>
#include <set>

#include "analysis/analysis_test_support.h"
#include "analysis/collectives/collectives.h"
#include "analysis/page/page.h"
#include "analysis/ranks/ranks.h"

namespace sonde::analysis {
namespace {

constexpr uint32_t kSeeds = 25;

trace::TraceBuilder generate(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t limit) { return static_cast<int64_t>(random() % limit); };
  const char* kernels[] = {"gemm", "void add<float>(float*)", "void add<int>(int*)",
                           "ncclDevKernel_AllReduce_Sum_f32", "__amd_rocclr_copyBuffer"};
  const char* others[] = {"CopyHostToDevice", "CopyDeviceToHost", "FillBuffer", "Barrier"};
  trace::TraceBuilder rows;
  int number = 0;
  for (const int64_t pid : {10, 20}) {
    rows.set_rank(pid, pid / 10 - 1);
    rows.add(ApiRow{"user_annotation", "ProfilerStep#1", 0, 2000, 1, pid});
    rows.add(ApiRow{"user_annotation", "ProfilerStep#2", 2000, 5001, 1, pid});
    for (int i = 0; i < 60; ++i) {
      const int64_t start = i * 80 + below(20);
      const std::string op = "aten::op" + std::to_string(below(5));
      rows.add(ApiRow{"cpu_op", op, start, start + 70, 1, pid});
      if (below(2) == 0) rows.add(ApiRow{"cpu_op", "aten::inner", start + 5, start + 60, 1, pid});
      if (below(4) == 0) rows.add(ApiRow{"", "hipDeviceSynchronize", start + 1, start + 4, 1, pid});
      const int api = rows.add(
          ApiRow{"cuda_runtime", "hipLaunchKernel", start + 10, start + 10 + below(20), 1, pid});
      const int64_t count = below(10) == 0 ? 5 : 1;  // a graph
      for (int64_t k = 0; k < count; ++k) {
        const int64_t begin = start + 12 + below(300);
        const int64_t length = below(8) == 0 ? 0 : below(200);
        const bool is_kernel = below(4) != 0;
        OpRow op_row{is_kernel ? kernels[below(5)] : "", begin, begin + length};
        op_row.api = below(12) == 0 ? trace::kNone : api;
        op_row.gpu = pid / 10 * 2 + below(2);
        op_row.queue = below(3);
        if (!is_kernel) op_row.type = others[below(4)];
        op_row.bytes = is_kernel ? -1 : below(1 << 20);
        rows.add(op_row);
        if (++number % 40 == 0) rows.add(op_row);  // twice the same
      }
    }
  }
  return rows;
}

TEST(Properties, breakdown_identity) {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const auto rows = generate(seed);
    for (const char* per : {"gpu", "rank", "step", "ran"}) {
      const bool ran = std::string(per) == "ran";
      const auto report =
          ask("breakdown", rows,
              ran ? Settings{{"per", "step"}, {"steps", "ran"}} : Settings{{"per", per}});
      const auto& table = section_of(report, "breakdown").table;
      ASSERT_GT(table.rows.size(), 0u);
      for (size_t row = 0; row < table.rows.size(); ++row) {
        int64_t sum = 0;
        for (const char* part : {"compute_ns", "exposed_communication_ns", "exposed_copy_ns",
                                 "exposed_memset_ns", "other_ns", "idle_ns"}) {
          ASSERT_GE(number(table, row, part), 0) << part;
          sum += number(table, row, part);
        }
        if (std::string(per) == "step") {
          ASSERT_GE(number(table, row, "other_steps_ns"), 0);
          sum += number(table, row, "other_steps_ns");
        }
        ASSERT_EQ(sum, number(table, row, "total_ns")) << per << ", seed " << seed;
      }
    }
  }
}

TEST(Properties, busy_never_exceeds_wall) {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const auto rows = generate(seed);
    const auto busy = ask("busy", rows);
    const auto& table = section_of(busy, "busy").table;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      ASSERT_LE(number(table, row, "busy_ns"), number(table, row, "span_ns"));
    }
    for (const char* by : {"name", "category", "stream", "operator"}) {
      const auto kernels = ask("kernels", rows, {{"by", by}, {"of", "all"}});
      const auto& lines = section_of(kernels, "kernels").table;
      for (size_t row = 0; row < lines.rows.size(); ++row) {
        ASSERT_LE(number(lines, row, "busy_ns"), number(lines, row, "total_ns"));
      }
    }
  }
}

TEST(Properties, EveryOperationHasOneOperatorOrNone) {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const auto rows = generate(seed);
    int64_t without_call = 0;
    int64_t total = 0;
    for (const OpRow& op : rows.ops()) {
      without_call += op.api == trace::kNone ? 1 : 0;
      total += op.end_ns - op.start_ns;
    }
    const auto report = ask("operators", rows);
    const auto& table = section_of(report, "operators").table;
    EXPECT_EQ(sum_of(table, "self_ops"), static_cast<int64_t>(rows.ops().size()));
    EXPECT_EQ(sum_of(table, "self_gpu_ns"), total);
    int64_t unattributed = 0;
    for (size_t row = 0; row < table.rows.size(); ++row) {
      EXPECT_LE(number(table, row, "self_gpu_ns"), number(table, row, "total_gpu_ns"));
      EXPECT_LE(number(table, row, "self_busy_ns"), number(table, row, "self_gpu_ns"));
      EXPECT_LE(number(table, row, "total_busy_ns"), number(table, row, "total_gpu_ns"));
      if (cell_text(table.rows[row][0]) == "(unattributed)") {
        unattributed += number(table, row, "self_ops");
      }
    }
    EXPECT_EQ(unattributed, without_call);
  }
}

// What the row of a group says, added up here from the rows that a test wrote down.
struct Sum {
  int64_t calls = 0, total_ns = 0, min_ns = 0, max_ns = 0, bytes = 0;
  void add(const OpRow& op) {
    const int64_t ns = op.end_ns - op.start_ns;
    min_ns = calls == 0 ? ns : std::min(min_ns, ns);
    max_ns = std::max(max_ns, ns);
    ++calls;
    total_ns += ns;
    bytes += std::max<int64_t>(0, op.bytes);
  }
};

// One engine serves these four commands: they say the same, and what is true.
TEST(Properties, top_ktop_copies_and_kernels_agree) {
  const auto sorted = [](Lines lines) {
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const auto rows = generate(seed);
    const auto lines = [&](const char* command, const Settings& settings, const Lines& keys) {
      return lines_of(ask(command, rows, settings), command, keys);
    };
    const Lines keys = {"name", "calls", "total_ns", "mean_ns", "min_ns", "max_ns", "percentage"};
    EXPECT_EQ(lines("top", {}, keys), lines("kernels", {{"of", "all"}}, keys));
    EXPECT_EQ(lines("ktop", {}, keys), lines("kernels", {}, keys));
    std::map<std::string, Sum> by_name, by_type;
    for (const OpRow& op : rows.ops()) {
      by_name[op.name.empty() ? op.type : op.name].add(op);
      if (op.type != "KernelExecution" && op.type != "Barrier") by_type[op.type].add(op);
    }
    Lines names, types, moved;
    for (const auto& [name, sum] : by_name) {
      names.push_back(
          fmt::format("{}|{}|{}|{}|{}", name, sum.calls, sum.total_ns, sum.min_ns, sum.max_ns));
    }
    for (const auto& [type, sum] : by_type) {
      types.push_back(fmt::format("{}|{}|{}", type, sum.calls, sum.total_ns));
      moved.push_back(types.back() + fmt::format("|{}", sum.bytes));
    }
    EXPECT_EQ(sorted(lines("top", {}, {"name", "calls", "total_ns", "min_ns", "max_ns"})),
              sorted(names));
    EXPECT_EQ(sorted(lines("copies", {}, {"direction", "calls", "total_ns", "moved_bytes"})),
              moved);
    // All types but those two, in the same order.
    Lines of_kernels =
        lines("kernels", {{"of", "all"}, {"by", "type"}}, {"type", "calls", "total_ns", "mean_ns"});
    std::erase_if(of_kernels, [](const std::string& line) {
      return line.rfind("KernelExecution|", 0) == 0 || line.rfind("Barrier|", 0) == 0;
    });
    EXPECT_EQ(lines("copies", {}, {"direction", "calls", "total_ns", "mean_ns"}), of_kernels);
    // The parts of copies add up to it.
    const auto copies = ask("copies", rows);
    for (const char* key : {"calls", "total_ns", "moved_bytes"}) {
      EXPECT_EQ(sum_of(section_of(copies, "sizes").table, key),
                sum_of(section_of(copies, "copies").table, key));
    }
  }
}

TEST(Properties, EveryGroupingHasAllTheTime) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    const auto rows = generate(seed);
    int64_t total = 0;
    for (const OpRow& op : rows.ops()) total += op.end_ns - op.start_ns;
    for (const std::string& by : find_analysis("kernels")->options[0].choices) {
      const auto report = ask("kernels", rows, {{"by", by}, {"of", "all"}});
      const auto& table = section_of(report, "kernels").table;
      EXPECT_EQ(sum_of(table, "calls"), static_cast<int64_t>(rows.ops().size())) << by;
      EXPECT_EQ(sum_of(table, "total_ns"), total) << by;
    }
  }
}

TEST(Properties, IdleReasonsAddUpToIdleTime) {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const auto rows = generate(seed);
    for (const bool with_window : {false, true}) {
      trace::Window window;
      if (with_window) {
        window.select = {700, 4100};
        window.extent = window.select;
      }
      const auto breakdown = ask("breakdown", rows, {}, 0, window);
      const auto& parts = section_of(breakdown, "breakdown").table;
      const auto idle = ask("idle", rows, {{"latency", "40ns"}}, 0, window);
      const auto& reasons = section_of(idle, "idle").table;
      int64_t copies = 0;
      for (size_t row = 0; row < reasons.rows.size(); ++row) {
        if (cell_text(reasons.rows[row][1]) == "copy") copies += number(reasons, row, "total_ns");
      }
      EXPECT_EQ(sum_of(reasons, "total_ns") - copies, sum_of(parts, "idle_ns"));
      EXPECT_EQ(copies, sum_of(parts, "exposed_copy_ns") + sum_of(parts, "exposed_memset_ns"));
      EXPECT_EQ(sum_of(section_of(idle, "lengths").table, "total_ns"), sum_of(parts, "idle_ns"));
    }
  }
}

TEST(Properties, RanksAddUp) {
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const auto rows = generate(seed);
    const auto gpus = ask("breakdown", rows, {{"per", "gpu"}});
    const auto ranks = ask("breakdown", rows, {{"per", "rank"}});
    for (const char* key : {"total_ns", "compute_ns", "idle_ns"}) {
      EXPECT_EQ(sum_of(section_of(gpus, "breakdown").table, key),
                sum_of(section_of(ranks, "breakdown").table, key));
    }
    EXPECT_EQ(section_of(ranks, "breakdown").table.rows.size(), 2u);
  }
}

TEST(Properties, ResultsDoNotDependOnTheOrderOfRows) {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const auto rows = generate(seed);
    for (const Analysis& analysis : all_analyses()) {
      const std::string expected = json_of(ask(analysis.name.c_str(), rows));
      for (const uint32_t shuffle : {7u, 8u}) {
        EXPECT_EQ(json_of(ask(analysis.name.c_str(), rows, {}, shuffle)), expected)
            << analysis.name;
      }
    }
  }
}

// What is said of whole traces, too.
TEST(Properties, PagesAndRanksDoNotDependOnTheOrderOfRows) {
  const auto all_of = [](const trace::TraceBuilder& rows, uint32_t shuffle) {
    std::string all = json_of(value_of(page_of(rows.build(shuffle, page_needs()), 0, 0)));
    const trace::Trace for_ranks = rows.build(shuffle, ranks_needs());
    const trace::Trace for_collectives = rows.build(shuffle, collectives_needs());
    all += json_of(ranks_report(std::span(&for_ranks, 1)));
    return all + json_of(collectives_report(std::span(&for_collectives, 1)));
  };
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const auto rows = generate(seed);
    const std::string expected = all_of(rows, 0);
    for (const uint32_t shuffle : {7u, 8u}) EXPECT_EQ(all_of(rows, shuffle), expected);
  }
}

TEST(Properties, EveryAnalysisIsExplainedAndKeysHaveUnits) {
  const auto rows = generate(1);
  std::set<std::string> names;
  for (const Analysis& analysis : all_analyses()) {
    EXPECT_TRUE(names.insert(analysis.name).second);
    EXPECT_EQ(analysis.definition.rfind(analysis.name + ": ", 0), 0u) << analysis.name;
    const auto report = ask(analysis.name.c_str(), rows);
    EXPECT_EQ(report.name, analysis.name);
    ASSERT_FALSE(report.sections.empty());
    for (const auto& section : report.sections) {
      for (const auto& column : section.table.columns) {
        const bool is_ns =
            column.key.size() > 3 && column.key.substr(column.key.size() - 3) == "_ns";
        EXPECT_EQ(is_ns && column.kind != report::Kind::kId, column.kind == report::Kind::kTime)
            << analysis.name << " " << column.key;
      }
    }
  }
}

// Traces that lack what a question is about: an answer that says so.
TEST(Properties, WhatIsMissingIsSaid) {
  const trace::TraceBuilder nothing;
  trace::TraceBuilder calls_only;
  calls_only.add(ApiRow{"cpu_op", "aten::mm", 0, 10});
  trace::TraceBuilder one_kernel;
  one_kernel.add(OpRow{"gemm", 100, 110});
  for (const Analysis& analysis : all_analyses()) {
    const trace::TraceBuilder* const kTraces[] = {&nothing, &calls_only, &one_kernel};
    for (const trace::TraceBuilder* rows : kTraces) {
      const auto report = ask(analysis.name.c_str(), *rows);
      ASSERT_FALSE(report.sections.empty()) << analysis.name;
      const auto& first = report.sections[0];
      EXPECT_FALSE(first.empty_text.empty()) << analysis.name;
      if (rows == &nothing) {
        EXPECT_TRUE(first.table.rows.empty()) << analysis.name;
      }
      for (const report::Renderer& renderer : report::all_renderers()) {
        EXPECT_FALSE(renderer.render(report, {}).empty());
      }
    }
  }
  EXPECT_EQ(ask("breakdown", one_kernel).notes,
            (Lines{"none of the kernels is a communication kernel"}));
  EXPECT_EQ(
      lines_of(ask("breakdown", one_kernel), "breakdown", {"total_ns", "compute_ns", "idle_ns"}),
      (Lines{"10|10|0"}));
  EXPECT_EQ(ask("operators", calls_only).notes, (Lines{"no device operations: CPU times only"}));
  EXPECT_EQ(
      lines_of(ask("operators", calls_only), "operators", {"operator", "self_gpu_ns", "cpu_ns"}),
      (Lines{"aten::mm|-|10"}));
}

TEST(Properties, ClockJumpsAreSaid) {
  trace::TraceBuilder rows;
  rows.add(OpRow{"time never filled in", 0, 0});
  rows.add(OpRow{"gemm", 1'700'000'000'000'000'000, 1'700'000'000'000'001'000});
  const auto report = ask("breakdown", rows);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_EQ(report.warnings[0].rfind("times jump: nothing happens for", 0), 0u);
  EXPECT_EQ(number(section_of(report, "breakdown").table, 0, "compute_ns"), 1000);
  trace::TraceBuilder calls;
  calls.add(ApiRow{"cpu_op", "aten::mm", 0, 10});
  calls.add(ApiRow{"cpu_op", "aten::mm", 1'700'000'000'000'000'000, 1'700'000'000'000'001'000});
  EXPECT_EQ(ask("api", calls).warnings.size(), 1u);
}

}  // namespace
}  // namespace sonde::analysis
