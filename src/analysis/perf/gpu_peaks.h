// What GPUs can do at most (gpu_peaks.toml). Used by the roofline of `sonde perf`.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/perf/tensors.h"
#include "base/result.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct GpuPeak {
  std::string name, match, source, date;
  double bandwidth_gb_per_s = 0;
  double compute_units = 0;  // 0 = not known
  // By Precision, in TFLOP/s; 0 = no figure.
  std::array<double, kPrecisions> matrix{}, vector{};

  bool fits(std::string_view device) const;
  // TFLOP/s for work on elements of this type; nullopt if there is no figure. What is not a matrix
  // product is done in fp32 unless it is fp64.
  std::optional<double> compute(Precision precision, bool on_matrix_units) const;
};

// The entries of a file of the form of gpu_peaks.toml; errors name `place`.
Result<std::vector<GpuPeak>> parse_gpu_peaks(std::string_view text, const std::string& place);
// The peaks of the file at `path`, if it is not "", and then the built-in ones.
Result<std::vector<GpuPeak>> gpu_peaks(const std::string& path);
// The entry that fits the device's name as the trace has it; nullptr if there is none, or if the
// device is a part of such a GPU.
const GpuPeak* peak_of(std::span<const GpuPeak> peaks, const trace::Trace& trace, int64_t gpu);

}  // namespace sonde::analysis
