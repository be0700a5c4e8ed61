// What the two ways to a Trace share, from an .rpd (load.cpp) and from another tool's file
// (foreign.cpp): the rules for times, names and domains, so that both give the same figures.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "trace/trace.h"

namespace sonde::trace {

// Clips [start, end) to the window. False if it lies outside: an interval must share time with the
// window, a zero-length one must lie in it.
bool clip_to(Interval window, Interval& times, uint64_t& clipped);

// The launch shapes of a trace; index 0 is the unknown one.
class ShapeTable {
 public:
  explicit ShapeTable(Trace& trace);
  uint32_t index(const LaunchShape& shape);

 private:
  struct Hash {
    size_t operator()(const LaunchShape& shape) const;
  };
  std::vector<LaunchShape>* shapes_;
  std::unordered_map<LaunchShape, uint32_t, Hash> index_of_;
};

// When all names are known: the class of each type, and the domains of calls that have none.
void complete_names(Trace& trace);
// Takes out the rows whose names are not wanted.
void filter_by_name(const Request& request, Trace& trace);
void add_skip_warnings(Trace& trace);

// Keeps the rows for which keep[row] holds.
void keep_ops(Trace& trace, const std::vector<bool>& keep);
void keep_apis(Trace& trace, const std::vector<bool>& keep);

}  // namespace sonde::trace
