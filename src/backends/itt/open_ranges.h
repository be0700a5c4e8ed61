// Ranges that the program begins and ends by an id of its own (overlapped tasks, regions, frames,
// events), possibly in different threads, with the agent's id of each.
//
// No locks: the table has a fixed size, a range is kept in one of the kWindow slots from its hash
// on, and each slot is owned by one thread at a time. Every function ends in bounded time.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::itt {

struct RangeKey {
  uint64_t scope;  // what the id belongs to: a domain's address, a thread, a kind
  uint64_t a, b, c;
};

constexpr size_t kSlots = 1 << 14;
constexpr size_t kWindow = 64;

struct OpenRanges {
  struct Slot {
    uint32_t state;
    RangeKey key;
    uint64_t range;
  };
  Slot slots[kSlots];
};

// False if there is no room. A key may occur several times.
bool put_range(OpenRanges& ranges, const RangeKey& key, uint64_t range);

// Removes one range of the key and returns it; 0 if there is none.
uint64_t take_range(OpenRanges& ranges, const RangeKey& key);

}  // namespace sonde::itt
