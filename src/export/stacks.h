// Stacks: where the time went, as a tree of call paths. A path is a process, a thread, and the
// calls and ranges open in that thread, outermost first; operations of a device hang below the call
// that launched them. Used by the exporters that write profiles instead of timelines.
//
// Host time of a path is its self time: the time it was open minus that of the slices within it. A
// slice that overlaps its neighbour without nesting is cut where its parent ends.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "export/events.h"

namespace sonde::exporting {

struct StackNode {
  uint32_t parent = kNone;
  uint32_t frame = 0;  // index into Stacks::frames
  int64_t host_ns = 0, device_ns = 0;
  uint64_t calls = 0;
};

struct Stacks {
  std::vector<std::string> frames;  // distinct texts
  std::vector<StackNode> nodes;     // a parent stands before its children

  // The frames of a node, outermost first.
  std::vector<uint32_t> path(uint32_t node) const;
};

Stacks stacks_of(const Events& events);

// What a profile of these events holds: all calls and operations, no counters.
Counts profile_counts(const Events& events);

}  // namespace sonde::exporting
