// CallPaths: the calls and ranges of each thread as a tree, with the statistics of every call path.
// As in Stacks, a slice that overlaps its neighbour without nesting is cut where its parent ends.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "export/events/events.h"
#include "export/events/name_statistics.h"

namespace sonde::exporting {

struct CallPath {
  std::string_view name;
  uint32_t thread = 0;  // index into Events::threads
  uint32_t depth = 0;   // of a root: 0
  // The statistics of the calls: with what they called, and without.
  Statistics inclusive, exclusive;
};

// Threads in the order in which they began, each with its paths in the order of their first call,
// a path right before those below it.
std::vector<CallPath> call_paths_of(const Events& events);

}  // namespace sonde::exporting
