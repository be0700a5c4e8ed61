// What the backend knows of the program's domains and counters, by address. Used by the itt
// backend.
//
// The structures belong to the static part and live as long as the process, but their spare fields
// are not set by every version, so what is known is kept here. Nobody waits for anybody, and
// nothing is ever taken out; of fixed size.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace sonde::itt {

constexpr size_t kPointers = 1 << 12;

struct PointerTable {
  struct Entry {
    uintptr_t owner, name;  // by one more than the address; 0 = nobody has put it yet
    uint64_t value;         // of a counter: its running total, an integer or the bits of a double
    uint32_t interned;      // the agent's id of the name; 0 = not yet asked for
  };
  Entry entries[kPointers];
};

// The entry of (owner, name), added when it is new; nullptr when the table is full.
PointerTable::Entry* entry_of(PointerTable& table, const void* owner, const void* name);

}  // namespace sonde::itt
