// KernelFacts: what a file says about kernels beyond the columns of a Trace: their resources on a
// compute unit, the single channels of the L2, their GPUs' peaks, and samples of program counters.
// Read separately, because few commands need it: `sonde sol`, `roofline`, `occupancy` and
// `instructions`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"
#include "trace/window.h"

namespace sonde::trace {

// What a kernel takes; -1 where the file does not say.
struct KernelResources {
  int64_t vgprs = -1, agprs = -1;  // registers of a lane: vector, accumulation
  int64_t sgprs = -1;              // of a wave
  int64_t lds_bytes = -1;          // of a work group
  int64_t scratch_bytes = -1;      // of a work item
  friend auto operator<=>(const KernelResources&, const KernelResources&) = default;
};

struct KernelLaunch {
  int64_t gpu = 0, start_ns = 0, end_ns = 0;
  std::string kernel;
  KernelResources takes;
  int64_t group_items = -1, grid_items = -1;
  std::vector<std::pair<std::string, double>> channels;  // "TCC_HIT[3]" and its value
};

struct KernelFacts {
  std::vector<KernelLaunch> launches;   // by start
  std::map<int64_t, std::string> gpus;  // their names as drivers report them
  // By GPU, as sonde roofs measured them: "HBMBw=1388.9 L2Bw=..."
  std::vector<std::pair<int64_t, std::string>> roofs;
};

enum class Launches { kAll, kCounted };  // kCounted: with hardware counters

// Reads an .rpd or another tool's file, which may be a pipe.
Result<KernelFacts> load_kernel_facts(const std::string& path, Launches which);

struct CountedTrace {
  Trace trace;
  KernelFacts facts;  // of the kernels that have hardware counters
  Window window;      // what `window` says in this file; both others are of all of it
};

// All from a file that is read once. `as` names the importer, "" sniffs.
Result<CountedTrace> load_counted(const std::string& path, const std::string& as,
                                  const Request& request, const WindowText& window);

// An instruction of a kernel whose program counters were sampled.
struct CodeLine {
  int64_t gpu = 0, offset = 0;     // in bytes from the kernel's first
  int64_t samples = 0, lanes = 0;  // lanes: that were on, of all samples
  std::string kernel, instruction;
  std::string file;  // "" if it is not known
  int64_t line = 0;
};

// By GPU and kernel, then by offset.
Result<std::vector<CodeLine>> load_code_lines(const std::string& path);

}  // namespace sonde::trace
