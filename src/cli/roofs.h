// What GPUs can do at most, as measured here by kernels of known work (measure/roofs.h): taken once
// for each GPU and kept in the user's cache folder. Used by `sonde roofs` and `sonde profile`,
// which writes them into the trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace sonde::cli {

struct GpuRoofs {
  int64_t gpu = 0;
  std::string name, location;  // as drivers report them
  bool by_software = false;
  std::map<std::string, double> values;  // by the columns of roofline.csv: HBMBw, HBMBwLow ...
};

// The GPUs that a trace has operations of, without values.
Result<std::vector<GpuRoofs>> gpus_of_trace(const std::string& trace);

// Runs the kernels on all GPUs that a command behind `launcher` sees: softgpu and its options, or
// nothing.
Result<std::vector<GpuRoofs>> measure_roofs(const std::vector<std::string>& launcher);

// The file for this machine's GPU; "" without a home folder.
std::string roofs_file(const GpuRoofs& gpu);
Status keep_roofs(const std::vector<GpuRoofs>& gpus);
// False where none are kept.
bool find_kept_roofs(GpuRoofs& gpu);
// As rocprof-compute has it.
std::string roofline_csv(const std::vector<GpuRoofs>& gpus);

}  // namespace sonde::cli
