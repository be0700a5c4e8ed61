// What the backend knows about the program's domains and counters, by address.
//
// The structures belong to the static part and live as long as the process, but not every version
// initialises their spare fields, so the data is kept here. Lock-free, fixed size, and nothing is
// ever removed.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::itt {

constexpr size_t kPointers = 1 << 12;

struct PointerTable {
  struct Entry {
    uintptr_t owner, name;  // address + 1; 0 = empty
    uint64_t value;         // of a counter: its running total, an integer or the bits of a double
    uint32_t interned;      // the agent's id of the name; 0 = not interned yet
  };
  Entry entries[kPointers];
};

// The entry of (owner, name), added if it is new; nullptr if the table is full.
PointerTable::Entry* entry_of(PointerTable& table, const void* owner, const void* name);

}  // namespace sonde::itt
