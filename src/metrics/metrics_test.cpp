#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "base/temporary_directory.h"
#include "metrics/definitions.h"
#include "metrics/evaluate.h"
#include "metrics/gpu_facts.h"
#include "metrics/occupancy.h"
#include "metrics/panels.h"
#include "metrics/sol/report.h"
#include "metrics/workload/folder.h"

namespace sonde::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Column column(std::vector<double> values) {
  return std::make_shared<const std::vector<double>>(std::move(values));
}

// Three dispatches with the counters A, B and C[0], C[1].
Workload small() {
  Workload workload;
  workload.kernels = {"k", "k", "l"};
  workload.dispatches = {0, 1, 2};
  workload.gpus = {0, 0, 0};
  workload.facts["total_l2_chan"] = 2;
  workload.main.columns["A"] = column({1, 2, 6});
  workload.main.columns["B"] = column({0, 4, kNan});
  workload.main.columns["C[0]"] = column({1, 1, 1});
  workload.main.columns["C[1]"] = column({10, 20, 30});
  workload.main.columns["SQ_WAVES"] = column({2, 2, 2});
  workload.passes["P"].columns["A"] = column({100, 200, 300});
  return workload;
}

Definitions definitions_of(const std::string& text) {
  Definitions definitions;
  definitions.gpu = "gfx90a";
  const Status status = add_definitions(text, "test.ini", definitions);
  EXPECT_TRUE(status) << (status ? "" : status.error().to_line());
  return definitions;
}

Value value_of(const std::string& formula, const std::string& pass = "",
               const std::string& lets = "") {
  static const Workload kWorkload = small();
  const Definitions definitions = definitions_of(lets);
  const auto expression = parse_expression(formula, "test");
  EXPECT_TRUE(expression) << formula;
  if (!expression) return {};
  return Evaluator(definitions, kWorkload, "wave").evaluate(*expression, pass);
}

double mean(const std::string& formula) { return mean_of(value_of(formula)).value_or(kNan); }

std::string problem_of(const std::string& formula) {
  const auto expression = parse_expression(formula, "place");
  return expression ? "" : expression.error().to_line();
}

TEST(Expression, ArithmeticBindsAsUsual) {
  EXPECT_DOUBLE_EQ(mean("1 + 2 * 3 - 8 / 4"), 5);
  EXPECT_DOUBLE_EQ(mean("8 / 4 / 2"), 1);
  EXPECT_DOUBLE_EQ(mean("10 - 3 - 2"), 5);
  EXPECT_DOUBLE_EQ(mean("-(2 + 1) * -2"), 6);
  EXPECT_DOUBLE_EQ(mean("1.5e2"), 150);
  EXPECT_DOUBLE_EQ(mean("A"), 3);
}

TEST(Expression, SelectIsByRowAndNoneIsLeftOut) {
  EXPECT_DOUBLE_EQ(mean("A / B if B != 0 else None"), 0.5);  // row 1 alone; row 2 has no B
  EXPECT_DOUBLE_EQ(mean("7 if A > 1 else 1"), 5);
  EXPECT_DOUBLE_EQ(mean("1 if A == 1 else 2 if A == 2 else 3"), 2);
}

TEST(Expression, Functions) {
  EXPECT_DOUBLE_EQ(mean("MAX(A, 2)"), 10.0 / 3);
  EXPECT_DOUBLE_EQ(mean("MIN(A)"), 1);
  EXPECT_DOUBLE_EQ(mean("MEDIAN(A)"), 2);
  EXPECT_DOUBLE_EQ(mean("QUANTILE(A, 0.75)"), 4);
  EXPECT_DOUBLE_EQ(mean("STD(A)"), std::sqrt(7));
  EXPECT_DOUBLE_EQ(mean("ROUND(2.5, 0)"), 2);  // to even
  EXPECT_DOUBLE_EQ(mean("ROUND(0.125, 2)"), 0.12);
  EXPECT_DOUBLE_EQ(mean("TO_INT(2.9)"), 2);
  EXPECT_DOUBLE_EQ(mean("MOD(-1, 32)"), 31);
}

TEST(Expression, ChannelsAndPasses) {
  EXPECT_DOUBLE_EQ(mean("C[*]"), 21);
  EXPECT_DOUBLE_EQ(mean("C[1]"), 20);
  EXPECT_DOUBLE_EQ(*mean_of(value_of("A", "P")), 200);
  EXPECT_DOUBLE_EQ(*mean_of(value_of("$a", "P", "let a = A")), 200);
  EXPECT_DOUBLE_EQ(*mean_of(value_of("$a", "P", "main a = A")), 3);
  EXPECT_DOUBLE_EQ(*mean_of(value_of("A / $per", "", "per wave = SQ_WAVES")), 1.5);
}

TEST(Expression, WhatIsMissingMakesNothing) {
  EXPECT_EQ(value_of("A + MISSING").kind, Value::Kind::kNothing);
  EXPECT_EQ(value_of("1 if MISSING != 0 else 2").kind, Value::Kind::kNothing);
  EXPECT_EQ(value_of("A", "NO_SUCH_PASS").kind, Value::Kind::kNothing);
  EXPECT_EQ(value_of("C[7]").kind, Value::Kind::kNothing);
  EXPECT_FALSE(mean_of(value_of("B / B if A < 0 else None")));
}

TEST(Expression, WrongOnesAreRefusedInOneLine) {
  for (const char* text : {"", "A +", "(A", "A)", "1 if A", "f(A)", "AVG(A, B)", "$", "C[", "C[-1]",
                           "A B", "1..2", "MIN()", "A = B", "\"x\""}) {
    const std::string problem = problem_of(text);
    EXPECT_FALSE(problem.empty()) << text;
    EXPECT_EQ(problem.find('\n'), problem.npos);
  }
  EXPECT_NE(problem_of(std::string(5000, '(')).find("too deep"), std::string::npos);
  EXPECT_NE(problem_of(std::string(5000, '-') + "1").find("too deep"), std::string::npos);
  std::string long_sum = "1";
  for (int i = 0; i < 20000; ++i) long_sum += "+1";
  EXPECT_NE(problem_of(long_sum).find("too long"), std::string::npos);
}

TEST(Definitions, AllThatAreBuiltInFitTogether) {
  for (const std::string& gpu : known_gpus()) {
    const auto definitions = definitions_for(gpu);
    ASSERT_TRUE(definitions) << definitions.error().to_line();
    const Status status = check_definitions(*definitions);
    EXPECT_TRUE(status) << gpu << (status ? "" : status.error().to_line());
    EXPECT_EQ(definitions->tables.front().id, "2.1");
    EXPECT_NE(definitions->find("l2 cache hit rate"), nullptr);
  }
  EXPECT_FALSE(definitions_for("gfx1100"));
}

TEST(Definitions, LinesForOtherGpusAreLeftOut) {
  const Definitions definitions = definitions_of(
      "[table 9.1]\ntitle = T\ncolumns = mean peak\n"
      "[metric Elsewhere]\ngpus = gfx942\neach = A\n"
      "[metric Here]\neach gfx908 = A\neach gfx90a gfx942 = 2 * A\nunit = Req per $\n");
  ASSERT_EQ(definitions.tables[0].metrics.size(), 1u);
  EXPECT_EQ(definitions.tables[0].metrics[0].id, "9.1.0");
  EXPECT_EQ(definitions.tables[0].metrics[0].each.source, "2 * A");
}

TEST(Definitions, MistakesAreToldWithTheirLine) {
  Definitions definitions;
  for (const char* text : {"[metric M]", "x = 1", "[table 1]\n[metric M]\neach = (", "[table 1",
                           "[table 1]\ncolumns = many", "nonsense"}) {
    const Status status = add_definitions(text, "f.ini", definitions);
    ASSERT_FALSE(status) << text;
    EXPECT_EQ(status.error().to_line().substr(0, 6), "f.ini:") << status.error().to_line();
  }
  EXPECT_FALSE(check_definitions(definitions_of("let a = $b\nlet b = $a")));
  EXPECT_FALSE(check_definitions(definitions_of("let a = $nowhere")));
}

// A folder with these files.
class Folder {
 public:
  explicit Folder(const std::string& counters,
                  const std::string& sysinfo = "gpu_arch,num_xcd,total_l2_chan\ngfx90a,1,2\n")
      : directory_(TemporaryDirectory::create().value()) {
    write("sysinfo.csv", sysinfo);
    write("pmc_perf.csv", counters);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(directory_.path() + "/" + name, std::ios::binary) << text;
  }
  Result<Workload> read() {
    SONDE_ASSIGN(Workload workload, open_workload_folder(directory_.path()));
    SONDE_TRY(read_counters({"A", "B", "SQ_WAVES", "GRBM_GUI_ACTIVE"}, workload));
    return workload;
  }

 private:
  TemporaryDirectory directory_;
};

TEST(WorkloadFolder, ReadsTheWideForm) {
  Folder folder(
      "\xEF\xBB\xBFKernel_Name,A,B,Start_Timestamp,End_Timestamp,Dispatch_ID\r\n"
      "\"f(int, \"\"x\"\")\",1,,13000000000000001,13000000000000004,7\r\n"
      "g,2.0,nan,13000000000000010,13000000000000011,8\r\n"
      "short,row\r\n");
  const auto workload = folder.read();
  ASSERT_TRUE(workload) << workload.error().to_line();
  EXPECT_EQ(workload->kernels, (std::vector<std::string>{"f(int, \"x\")", "g"}));
  EXPECT_EQ(workload->dispatches, (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(**workload->main.find("A"), (std::vector<double>{1, 2}));
  EXPECT_TRUE(std::isnan((**workload->main.find("B"))[1]));
  // Beyond 2^53 a double cannot hold the times themselves.
  EXPECT_EQ(durations(*workload), (std::vector<double>{3, 1}));
  EXPECT_EQ(workload->warnings.size(), 1u);
}

TEST(WorkloadFolder, ReadsTheLongForm) {
  const auto workload =
      Folder(
          "GPU_ID,Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp,Counter_Name,"
          "Counter_Value\n"
          "5,3,k,100,110,A,1\n5,3,k,200,230,B,4\n5,3,k,300,320,A,2\n9,4,k,400,440,A,8\n")
          .read();
  ASSERT_TRUE(workload) << workload.error().to_line();
  EXPECT_EQ(workload->rows(), 2u);
  EXPECT_EQ(workload->gpus, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(**workload->main.find("A"), (std::vector<double>{2, 8}));  // the last value
  EXPECT_EQ(durations(*workload), (std::vector<double>{20, 40}));      // the median of passes
}

TEST(WorkloadFolder, PassesThatDisagreeAreTold) {
  Folder folder("Kernel_Name,GRBM_GUI_ACTIVE\nk,1000\nk,1000\nk,1000\n");
  folder.write("SQ_LEVEL_WAVES.csv", "Kernel_Name,GRBM_GUI_ACTIVE,A\nk,1500,7\nk,1000,8\n");
  const auto workload = folder.read();
  ASSERT_TRUE(workload) << workload.error().to_line();
  EXPECT_EQ(workload->rows(), 2u);  // as many as the shortest
  ASSERT_EQ(workload->warnings.size(), 2u);
  EXPECT_NE(workload->warnings[1].find("50 %"), std::string::npos);
}

TEST(WorkloadFolder, WhatCannotBeReadIsOneLine) {
  EXPECT_FALSE(open_workload_folder("/no/such/folder"));
  for (const char* counters :
       {"", "\n", "A,B\n1,2\n", "Kernel_Name\n", "Kernel_Name,A\n\"open,1\n"}) {
    const auto workload = Folder(counters).read();
    ASSERT_FALSE(workload) << counters;
    EXPECT_EQ(workload.error().to_line().find('\n'), std::string::npos);
  }
  EXPECT_FALSE(Folder("Kernel_Name\nk\n", "gpu_model\nMI200\n").read());
  EXPECT_FALSE(Folder("Kernel_Name\nk\n", "").read());
}

TEST(Panels, ChannelsThatAFileOnlyClaimsCostNothing) {
  Folder folder("Kernel_Name,SQ_WAVES\nk,1\n", "gpu_arch,total_l2_chan,num_xcd\ngfx90a,1e300,1\n");
  const auto workload = folder.read();
  ASSERT_TRUE(workload);
  const auto definitions = definitions_for("gfx90a");
  SolOptions options;
  options.all = true;
  const auto tables = chosen_tables(*definitions, options);
  const report::Report report = sol_report(*definitions, *workload, *tables, options);
  EXPECT_FALSE(report.sections.empty());
}

int waves(std::string_view gpu, const KernelResources& kernel) {
  const auto occupancy = occupancy_of(gpu, kernel);
  return occupancy ? occupancy->waves_per_simd : -1;
}

// By the sizes that the instruction set manuals give: 256 registers for a lane on gfx908, 512
// shared with accumulation registers from gfx90a on, 800 SGPRs, 64 KiB of LDS.
TEST(Occupancy, FollowsFromRegistersAndLds) {
  EXPECT_EQ(waves("gfx908", {.vgprs = 24, .sgprs = 32}), 10);
  EXPECT_EQ(waves("gfx908", {.vgprs = 25, .sgprs = 32}), 9);  // 28 are given out
  EXPECT_EQ(waves("gfx908", {.vgprs = 32, .agprs = 128}), 2);
  EXPECT_EQ(waves("gfx908", {.vgprs = 24, .sgprs = 102}), 7);
  EXPECT_EQ(waves("gfx90a", {.vgprs = 64}), 8);
  EXPECT_EQ(waves("gfx90a", {.vgprs = 65}), 7);
  EXPECT_EQ(waves("gfx90a", {.vgprs = 100, .agprs = 28}), 4);
  EXPECT_EQ(waves("gfx942", {.vgprs = 512}), 1);
  EXPECT_EQ(waves("gfx90a", {.vgprs = 32, .lds_bytes = 32768, .group_items = 256}), 2);
  EXPECT_EQ(waves("gfx950", {.vgprs = 32, .lds_bytes = 32768, .group_items = 256}), 4);
  // RDNA: waves of 32 items, 1024 registers of each of its lanes (1536 on gfx1100), SGPRs for all,
  // a work group on two CUs with 128 KiB of LDS together.
  EXPECT_EQ(waves("gfx1030", {.vgprs = 64, .sgprs = 128}), 16);
  EXPECT_EQ(waves("gfx1030", {.vgprs = 65}), 12);  // 80 are given out
  EXPECT_EQ(waves("gfx1100", {.vgprs = 97}), 12);  // 120
  EXPECT_EQ(waves("gfx1010", {.vgprs = 8}), 20);
  EXPECT_EQ(waves("gfx1030", {.vgprs = 32, .lds_bytes = 65536, .group_items = 256}), 4);
  EXPECT_EQ(occupancy_of("gfx90a", {.vgprs = 128})->limiter, "VGPRs");
  EXPECT_EQ(occupancy_of("gfx90a", {.vgprs = 8})->limiter, "");
}

TEST(Occupancy, IsNotMadeUp) {
  EXPECT_EQ(waves("gfx1300", {.vgprs = 8}), -1);
  EXPECT_EQ(waves("gfx90a", {.vgprs = 1000}), -1);
  EXPECT_EQ(waves("gfx90a", {.vgprs = -1}), -1);
  EXPECT_EQ(waves("gfx90a", {.vgprs = 8, .lds_bytes = 65537, .group_items = 64}), -1);
}

TEST(GpuFacts, ArchitecturesAreInNamesOrFollowFromThem) {
  EXPECT_EQ(architecture_of("AMD Radeon RX 6800 (gfx1030)"), "gfx1030");
  EXPECT_EQ(architecture_of("gfx90a:sramecc+:xnack-"), "gfx90a");
  EXPECT_EQ(architecture_of("AMD Instinct MI300X"), "gfx942");
  EXPECT_EQ(architecture_of("a card"), "");
}

TEST(GpuFacts, AreFoundByTheNamesOfDrivers) {
  for (const auto& [device, model] : {std::pair{"AMD Instinct MI300X", "MI300X"},
                                      std::pair{"gfx90a", "MI210"}, std::pair{"mi100", "MI100"}}) {
    const auto gpu = gpu_facts_of(device);
    ASSERT_TRUE(gpu) << device;
    EXPECT_EQ(gpu->model, model);
    EXPECT_TRUE(definitions_for(gpu->arch));
  }
  EXPECT_FALSE(gpu_facts_of(""));
  EXPECT_FALSE(gpu_facts_of("NVIDIA H100"));
  EXPECT_FALSE(parse_gpu_facts("[gpu X]\ncu_per_gpu = many\n", "f.ini"));
}

}  // namespace
}  // namespace sonde::metrics
