// Slices: the begins and ends of a track's events, paired. Used by the Perfetto importer.
#pragma once

#include <cstdint>
#include <vector>

#include "importers/perfetto/model.h"

namespace sonde::importers {

struct PerfettoSlice {
  uint32_t event = 0;  // its start, or the moment itself
  int64_t start_ns = 0, end_ns = 0;
  bool finished = true;
};

// The slices of the events with these indices, which are one track's in the order of the file;
// ascending by begin. A slice without an end lasts until `last_ns`. `stray_ends` counts ends
// without a start.
//
// Begins and ends pair as they stand in the file if it allows that: rocprofv3 writes each slice as
// a whole, in any order and overlapping ones too. Where time runs backwards inside of an open
// slice, or an end comes before any begin, they are paired in the order of time, as Perfetto does.
std::vector<PerfettoSlice> pair_slices(const std::vector<PerfettoEvent>& events,
                                       std::vector<uint32_t> track, int64_t last_ns,
                                       uint64_t& stray_ends);

}  // namespace sonde::importers
