// Workload: the counters of the dispatches of one run as columns, and the GPU that they ran on.
// Made from a folder of rocprof-compute (folder.h) or from a trace that has counters
// (trace.h); evaluated by evaluate.h. All tables have the same rows, one per dispatch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::metrics {

using Column = std::shared_ptr<const std::vector<double>>;  // NaN: not counted

// Counters and the numeric columns beside them (Start_Timestamp, Arch_VGPR ...), by name. Times are
// nanoseconds after the first of the table, so that their differences are exact in doubles.
struct CounterTable {
  std::map<std::string, Column, std::less<>> columns;

  const Column* find(std::string_view name) const;
};

// What one device can do, measured: "HBMBw" in GB/s, "MFMAF16Flops" in GFLOP/s ...
using Roofs = std::map<std::string, double, std::less<>>;

struct Workload {
  std::string path;
  std::string gpu;    // "gfx90a"
  std::string model;  // "MI210"; may be empty
  std::map<std::string, double, std::less<>>
      facts;                         // "cu_per_gpu" ...; what is missing is not known
  std::vector<std::string> kernels;  // by row
  std::vector<int64_t> dispatches;   // by row: numbers as recorded
  std::vector<int64_t> gpus;         // by row
  CounterTable main;
  std::map<std::string, CounterTable, std::less<>> passes;  // by name: SQ_LEVEL_WAVES ...
  std::vector<Roofs> roofs;                                 // by device; empty: not measured
  std::vector<std::string> warnings;
  bool on_softgpu = false;  // counted by a software GPU, as far as the trace says

  size_t rows() const { return kernels.size(); }
};

// The rows that `keep` has true for, in all tables.
Workload only_rows(const Workload& workload, const std::vector<bool>& keep);

// Time of each row in nanoseconds, NaN where the file has no times.
std::vector<double> durations(const Workload& workload);

// Rows grouped by kernel.
struct KernelRows {
  std::string name;
  std::vector<size_t> rows;
  double total_ns = 0;  // of those whose time is known
};
// Most time first.
std::vector<KernelRows> by_kernel(const Workload& workload);

}  // namespace sonde::metrics
