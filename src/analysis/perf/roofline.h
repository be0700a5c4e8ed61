// Work against what a device can do: the least time that its peaks allow, and the picture of it.
// Used by `sonde perf` and the page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/perf/gpu_peaks.h"
#include "analysis/perf/models.h"
#include "report/chart.h"

namespace sonde::analysis {

// Calls of an operator with one shape, on GPUs with the same peaks.
struct PerfRow {
  std::string name;
  const PerfModel* model = nullptr;
  const GpuPeak* peak = nullptr;  // nullptr: not known
  Work each;
  int64_t calls = 0, kernels = 0, gpu_ns = 0;

  double flops() const { return static_cast<double>(each.flops) * static_cast<double>(calls); }
  double bytes() const { return static_cast<double>(each.bytes) * static_cast<double>(calls); }
  std::optional<double> intensity() const;    // FLOP for each byte
  std::optional<double> tflop_per_s() const;  // achieved
  std::optional<double> gb_per_s() const;     // achieved
  std::optional<double> peak_tflop_per_s() const;
  std::optional<double> peak_gb_per_s() const;
};

struct Bound {
  double ns = 0;  // max(FLOP / peak, bytes / bandwidth)
  bool is_compute = false;
};
// nullopt where the peaks are not known.
std::optional<Bound> bound_of(const PerfRow& row);

// TFLOP/s over FLOP/B, both logarithmic: a roof for each peak that the rows are measured against,
// and a point for each row that calculates anything.
report::Chart roofline_chart(const std::vector<PerfRow>& rows);

}  // namespace sonde::analysis
