// What a thread is in the middle of: its open ranges and calls, two stacks in the header of its
// chunk, and a count of the open ranges that do not fit there.
#pragma once

#include <string.h>

#include "agent/spool.h"
#include "agent/state.h"

namespace sonde::agent {

// Bytes of open text in use.
inline uint32_t open_text_top(const wire::ChunkHeader* chunk) {
  for (uint32_t i = load(chunk->open_ranges); i-- > 0;) {
    const wire::OpenRange& range = chunk->ranges[i];
    if (range.text_length != 0) return range.text_offset + range.text_length;
  }
  return 0;
}

// Removes one entry.
template <typename T>
inline void remove_open(T* open, uint32_t& open_count, uint32_t index) {
  const uint32_t before = load(open_count);
  if (index >= before) [[unlikely]]
    return;  // in a child that was forked meanwhile: see fork.cpp
  const uint32_t count = before - 1;
  if (index != count) [[unlikely]] {
    memmove(&open[index], &open[index + 1], (count - index) * sizeof(T));
  }
  store_release(open_count, count);
}

// The counter of the domain's open ranges that did not fit into the chunk; nullptr: too many
// domains have such ranges.
inline uint32_t* too_deep(Ring* ring, uint32_t domain) {
  uint32_t* free = nullptr;
  for (auto& entry : ring->too_deep) {
    if (entry.ranges != 0 && entry.domain == domain) return &entry.ranges;
    if (entry.ranges == 0) {
      entry.domain = domain;
      free = &entry.ranges;
    }
  }
  return free;
}

// If a domain has such ranges, its next range must not be kept either: it ends before they do.
[[gnu::noinline]] inline bool has_deep_range(Ring* ring, uint32_t domain) {
  const uint32_t* ranges = too_deep(ring, domain);
  return ranges != nullptr && *ranges != 0;
}

[[gnu::noinline]] inline void lose_deep_range(Ring* ring, uint32_t domain) {
  if (recording()) count_drop(wire::DropSource::kRange, wire::DropReason::kTooDeep);
  if (uint32_t* ranges = too_deep(ring, domain)) {
    ++*ranges;
    ++ring->too_deep_ranges;
  }
}

// Ends a range that was not kept: -1 if the domain has none, else the level, as range_pop.
[[gnu::noinline]] inline int end_deep_range(Ring* ring, uint32_t domain) {
  uint32_t* ranges = too_deep(ring, domain);
  if (ranges == nullptr || *ranges == 0) return -1;
  --*ranges;
  --ring->too_deep_ranges;
  uint32_t level = *ranges;
  for (uint32_t i = 0; i < load(ring->chunk->open_ranges); ++i) {
    level += ring->chunk->ranges[i].domain == domain ? 1 : 0;
  }
  return static_cast<int>(level);
}

}  // namespace sonde::agent
