// What the two ways to a Trace share, from an .rpd (load.cpp) and from another tool's file
// (other_tools.cpp), and the one function that makes a Trace of the rows, so that both give the
// same figures.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>

#include "base/numbered.h"
#include "base/possible_span.h"
#include "trace/trace.h"

namespace sonde::trace {

struct ShapeHash {
  size_t operator()(const LaunchShape& shape) const;
};
using ShapeNumbering = Numbering<LaunchShape, std::unordered_map<LaunchShape, uint32_t, ShapeHash>>;

// What the loaders know only when all is read; not part of the Trace.
struct Raw {
  std::vector<NameId> api_category;  // by row of apis, if `nesting`; then taken into Apis::kind
  std::set<int64_t> gpus;            // that have operations, if Request::gpu chooses one
  std::optional<Interval> extent;    // of the rows that were read, chosen or not
  uint64_t impossible = 0;  // rows at times that no clock shows (base/possible_span.h); left out
  // Takes in a row, or counts it as impossible and returns false.
  bool take(Interval times) {
    if (is_possible_span(times.start_ns, times.end_ns)) {
      extend(extent, times);
      return true;
    }
    ++impossible;
    return false;
  }
};

// Whether operations of a GPU are loaded: those of a rank's other GPUs are, too, since they show
// how long its program took; arrange() leaves them out.
inline bool wants_gpu(const Request& request, int64_t gpu) {
  return !request.gpu || *request.gpu == gpu || (request.program && request.rank);
}

// Allocations are shown with their time as --from counts it, so from the first operation.
inline bool needs_first_op(const Request& request) {
  return !request.ops && (request.args_of & bit_of(ApiKind::kMemory)) != 0;
}

// Trace::program, not cut: `raw` has the tables that `wanted` names, the others are looked at.
Result<std::optional<Interval>> program_of(store::Reader& reader, const Request& wanted,
                                           const Raw& raw);
// From the start of the first process of a rank to the end of the last, where the file says so.
Result<std::optional<Interval>> lifetime_of_rank(store::Reader& reader, int64_t rank);

// Adds a device, or the name of one that is known without.
void describe_device(std::vector<Device>& devices, int64_t gpu, std::string_view name,
                     int64_t compute_units);

// The request with all that it implies.
Request completed(const Request& request);

// The rows as they were read become a Trace: domains and classes of names, kinds of calls, links to
// processes; bad rows repaired, rows outside of the window or unwanted taken out, the rest clipped
// and sorted. Shapes are numbered by first use.
void arrange(const Request& request, const Window& window, const Raw& raw, Trace& trace);

}  // namespace sonde::trace
