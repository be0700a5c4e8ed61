// Roofline: how much a kernel computes for each byte that it moves between levels of memory, and
// how fast, beside what the GPU can do. Used by `sonde roofline` and by the page of `sonde sol`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/definitions.h"
#include "metrics/workload/workload.h"
#include "report/report.h"

namespace sonde::metrics {

struct Roof {
  std::string name;  // "HBM", "FP32", "Matrix F16"
  bool is_bandwidth = false;
  double value = 0;  // GB/s or GFLOP/s
  bool is_measured = false;
};

struct RooflinePoint {
  std::string kernel;
  std::optional<int64_t> dispatch;  // nothing: all dispatches of the kernel
  size_t dispatches = 0;
  double share = 0;                        // of the time of all, 0 to 1
  std::optional<double> gflop_per_s;       // mean work by mean time
  std::optional<double> hbm, l2, l1, lds;  // FLOP for each byte
  std::optional<double> mean_ns, mean_flops;
};

struct RooflineOptions {
  bool by_dispatch = false;
  std::string type = "FP32";  // which compute roofs the bound is of
  size_t device = 0;          // row of roofline.csv
  std::string title;          // of the section of the points
};

struct Roofline {
  std::vector<Roof> roofs;
  std::vector<RooflinePoint> points;  // most time first
};

Result<Roofline> roofline_of(const Definitions& definitions, const Workload& workload,
                             const RooflineOptions& options);
report::Report roofline_report(const Roofline& roofline, const Workload& workload,
                               const RooflineOptions& options);
// The types that there can be roofs for: "FP32" ...
std::vector<std::string> roofline_types();
// The counters that it needs are those of the shared formulas.

}  // namespace sonde::metrics
