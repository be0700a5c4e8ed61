// `sonde perf`: which kernel counts for which operator, and against which peaks.
#include "analysis/analysis_test_support.h"
#include "analysis/perf/gpu_peaks.h"

namespace sonde::analysis {
namespace {

std::string sizes(const std::string& dims, const std::string& types) {
  return R"({"Input Dims":)" + dims + R"(,"Input type":)" + types + "}";
}

const std::string kMm = sizes("[[100,200],[200,300]]", R"(["float","float"])");

// An operator with a launch inside, whose kernel takes `duration_ns`.
void add_call(trace::TraceBuilder& rows, const char* name, const std::string& args, int64_t at,
              int64_t duration_ns, int64_t gpu = 0) {
  rows.add(ApiRow{"cpu_op", name, at, at + 50, 1, 1, {}, args});
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", at + 10, at + 20},
           OpRow{"k", at + 100, at + 100 + duration_ns, gpu});
}

TEST(Perf, RatesAndSharesOfPeaks) {
  trace::TraceBuilder rows;
  add_call(rows, "aten::mm", kMm, 0, 1000);
  add_call(rows, "aten::mm", kMm, 5000, 3000);
  rows.set_device(0, "NVIDIA A100-SXM4-40GB");
  const auto report = ask("perf", rows);
  // 2*100*200*300 twice in 4 us = 6 TFLOP/s of 19.5; 440,000 bytes twice = 220 GB/s of 1555.
  // 24 MFLOP at 19.5 TFLOP/s take 1230.8 ns, 880 KB at 1555 GB/s 566 ns.
  EXPECT_EQ(lines_of(report, "perf",
                     {"operator", "shape", "calls", "gpu_ns", "flops", "model_bytes", "tflop_per_s",
                      "gb_per_s", "compute_percentage", "bandwidth_percentage", "bound",
                      "roofline_ns", "roofline_percentage"}),
            (Lines{"aten::mm|M=100 N=300 K=200|2|4000|24000000|880000|6|220|30.77|14.15|compute|"
                   "1231|30.77"}));
  EXPECT_EQ(lines_of(report, "gpus", {"gpu_id", "device", "peaks_of"}),
            (Lines{"0|NVIDIA A100-SXM4-40GB|A100 40GB"}));
  ASSERT_EQ(section_of(report, "perf").charts.size(), 1u);
  EXPECT_EQ(section_of(report, "perf").charts[0].series.size(), 2u);  // a roof and the points
}

TEST(Perf, AnUnknownDeviceHasNoShares) {
  trace::TraceBuilder rows;
  add_call(rows, "aten::mm", kMm, 0, 1000);
  rows.set_device(0, "Some GPU");
  auto report = ask("perf", rows);
  const std::vector<std::string> columns = {"flop_per_byte", "tflop_per_s", "compute_percentage",
                                            "bound", "roofline_ns"};
  EXPECT_EQ(lines_of(report, "perf", columns), (Lines{"27.27|12|-|-|-"}));
  ASSERT_EQ(report.notes.size(), 1u);
  EXPECT_TRUE(has(report.notes[0], "Some GPU"));
  report = ask("perf", rows, {{"gpu-peak", "H100 SXM"}});
  EXPECT_EQ(lines_of(report, "perf", columns), (Lines{"27.27|12|17.94|compute|179"}));
  EXPECT_FALSE(answer("perf", rows.build(), {{"gpu-peak", "H1"}}).ok());
}

// An eighth of an MI300X, in CPX mode, which has the name of the whole.
TEST(Perf, APartOfAGpuHasNoShares) {
  const std::string args = sizes("[[1000000]]", R"(["float"])");
  const std::vector<std::string> columns = {"gb_per_s", "bandwidth_percentage", "roofline_ns"};
  for (const int64_t units : {304, 38}) {
    trace::TraceBuilder rows;
    add_call(rows, "aten::neg", args, 0, 13'333);
    rows.set_device(0, "AMD Instinct MI300X", units);
    const auto report = ask("perf", rows);
    // 8 MB in 13.333 us, of 5,300 GB/s.
    EXPECT_EQ(lines_of(report, "perf", columns),
              (Lines{units == 304 ? "600|11.32|1509" : "600|-|-"}));
    EXPECT_EQ(report.notes.size(), units == 304 ? 0u : 1u);
  }
}

// What attention is made of counts, and not attention as well.
TEST(Perf, WorkInsideOfOtherWorkCountsOnce) {
  trace::TraceBuilder rows;
  const std::string half = R"(["c10::Half","c10::Half","c10::Half","","","",""])";
  rows.add(ApiRow{"cpu_op",
                  "aten::scaled_dot_product_attention",
                  0,
                  1000,
                  1,
                  1,
                  {},
                  R"({"Concrete Inputs":["","","","","0.","False",""],)" +
                      sizes("[[1,2,8,4],[1,2,8,4],[1,2,8,4],[],[],[],[]]", half).substr(1)});
  add_call(rows, "aten::bmm", sizes("[[2,8,4],[2,4,8]]", half), 100, 10);
  add_call(rows, "aten::bmm", sizes("[[2,8,8],[2,8,4]]", half), 200, 20);
  rows.add(ApiRow{"cuda_runtime", "hipLaunchKernel", 300, 310}, OpRow{"mask", 2000, 2007});
  const auto report = ask("perf", rows);
  EXPECT_EQ(lines_of(report, "perf", {"operator", "flops", "gpu_ns"}),
            (Lines{"aten::bmm|1024|20", "aten::bmm|1024|10"}));
  EXPECT_EQ(lines_of(report, "not_modelled", {"operator", "reason", "gpu_ns"}),
            (Lines{"aten::scaled_dot_product_attention|the operators inside it have the work|7"}));
  EXPECT_EQ(lines_of(report, "kinds", {"kind", "kernels", "gpu_ns"}),
            (Lines{"gemm|2|30", "not modelled|1|7"}));
}

// The kernel is that of an operator without a model in one that has one.
TEST(Perf, KernelsBelongToTheInnermostOperatorThatIsKnown) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cpu_op", "aten::mm", 0, 100, 1, 1, {}, kMm});
  add_call(rows, "vendor::gemm", "", 10, 40);
  add_call(rows, "vendor::other", "", 1000, 5);
  add_call(rows, "aten::mm", "", 2000, 6);
  const auto report = ask("perf", rows);
  EXPECT_EQ(lines_of(report, "perf", {"operator", "calls", "kernels", "gpu_ns"}),
            (Lines{"aten::mm|1|1|40"}));
  EXPECT_EQ(lines_of(report, "not_modelled", {"operator", "reason", "gpu_ns"}),
            (Lines{"aten::mm|no sizes recorded|6", "vendor::other|no model|5"}));
}

TEST(Perf, SaysWhatIsNotThere) {
  trace::TraceBuilder rows;
  rows.add(ApiRow{"cpu_op", "aten::mm", 0, 100, 1, 1, {}, kMm});
  const auto report = ask("perf", rows);
  ASSERT_EQ(report.sections.size(), 1u);
  EXPECT_EQ(report.sections[0].empty_text, "No kernels.");
}

TEST(GpuPeaks, TheOnesBuiltIn) {
  const auto peaks = value_of(gpu_peaks(""));
  const auto of = [&](const char* device) -> std::string {
    for (const GpuPeak& peak : peaks) {
      if (peak.fits(device)) return peak.name;
    }
    return "";
  };
  EXPECT_EQ(of("AMD Instinct MI250X"), "MI250X");
  EXPECT_EQ(of("AMD Instinct MI250X/MI250"), "MI250X");
  EXPECT_EQ(of("AMD Instinct MI250"), "MI250");
  EXPECT_EQ(of("AMD Instinct MI300X VF"), "MI300X");
  EXPECT_EQ(of("NVIDIA H100 80GB HBM3"), "H100 SXM");
  EXPECT_EQ(of("NVIDIA H100 PCIe"), "H100 PCIe");
  EXPECT_EQ(of("NVIDIA A100-SXM4-80GB"), "A100 80GB");
  EXPECT_EQ(of("Tesla V100-SXM2-16GB"), "V100 SXM2");
  EXPECT_EQ(of("NVIDIA H200"), "H200");
  for (const char* other : {"NVIDIA H200 NVL", "NVIDIA GH200 480GB"}) EXPECT_EQ(of(other), "");
  EXPECT_EQ(of("NVIDIA A100-SXM4-40GB"), "A100 40GB");
  EXPECT_EQ(of("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), "") << "a seventh of it";
  EXPECT_EQ(of("AMD Radeon Graphics"), "");
  EXPECT_EQ(of(""), "");
  for (const GpuPeak& peak : peaks) {
    EXPECT_FALSE(peak.source.empty() || peak.date.empty()) << peak.name;
    EXPECT_TRUE(peak.compute(Precision::kFp32, false)) << peak.name;
    EXPECT_TRUE(peak.compute(Precision::kFp32, true)) << peak.name;
  }
}

// As AMD's drivers show the parts of a GPU in CPX mode.
TEST(GpuPeaks, OfAPartAreNotKnown) {
  const auto peaks = value_of(gpu_peaks(""));
  for (const auto& [units, is_known] : {std::pair(0, true), {304, true}, {38, false}}) {
    trace::TraceBuilder rows;
    rows.add(OpRow{"k", 0, 100});
    rows.set_device(0, "AMD Instinct MI300X", units);
    EXPECT_EQ(peak_of(peaks, rows.build(0, {.ops = true, .devices = true}), 0) != nullptr, is_known)
        << units;
  }
}

TEST(GpuPeaks, WrongFilesAreRefused) {
  EXPECT_TRUE(parse_gpu_peaks("[[gpu]]\nname = \"A\"\nbandwidth = 10\n", "f").ok());
  for (const char* text :
       {"fp16 = 3", "[[gpu]]\nname = \"A\"", "[[gpu]]\nname = A\nbandwidth = 1",
        "[[gpu]]\nname = \"A\"\nbandwidth = many", "[[gpu]]\nname = \"A\"\nbandwidth = -1",
        "[[gpu]]\nname = \"A\"\nbandwidth = 1\nfp99 = 3",
        "[[gpu]]\nname = \"A\"\nbandwidth = nan"}) {
    const auto peaks = parse_gpu_peaks(text, "f");
    ASSERT_FALSE(peaks.ok()) << text;
    EXPECT_TRUE(has(peaks.error().to_line(), "f:"));
  }
}

}  // namespace
}  // namespace sonde::analysis
