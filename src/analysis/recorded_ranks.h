// Which files of one question are of the same rank. A profiler that records in cycles, as PyTorch's
// with a schedule, writes a file for each cycle: they are one rank, and one GPU. Used where ranks
// and GPUs are counted.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

class RecordedRanks {
 public:
  // Processes of the same rank and number are one if what they did does not overlap in time. In a
  // merged file, too, where the numbers tell the files apart.
  explicit RecordedRanks(std::span<const trace::Trace> traces);

  using Place = std::pair<size_t, int32_t>;  // a file, and a process of its or kNone
  // Where the process was recorded first: the place itself, if it is in no other.
  Place first(Place place) const;

  // Warns of ranks in several files that are no recordings of one process: of several runs. And
  // notes which are one although they were recorded several times, and what that means here.
  void tell(const char* meaning, report::Report& report) const;

 private:
  std::map<Place, Place> first_;  // of those that are not themselves the first
  std::vector<int64_t> joined_, several_;
};

}  // namespace sonde::analysis
