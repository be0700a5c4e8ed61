#include "backends/itt/pointer_table.h"

namespace sonde::itt {
namespace {

enum State : uint32_t { kEmpty = 0, kOwned = 1, kFull = 2 };

// An entry is written in a few instructions; a thread that finds one being written waits this often
// at most, then acts as if the table were full.
constexpr int kPatience = 10000;

size_t first_entry(const void* owner, const void* name) {
  uint64_t value = reinterpret_cast<uintptr_t>(owner) * 31 + reinterpret_cast<uintptr_t>(name);
  value *= 0x9e3779b97f4a7c15ull;
  return (value >> 40) % kPointers;
}

uint32_t settled_state(const PointerTable::Entry& entry) {
  uint32_t state = __atomic_load_n(&entry.state, __ATOMIC_ACQUIRE);
  for (int i = 0; state == kOwned && i < kPatience; ++i) {
    state = __atomic_load_n(&entry.state, __ATOMIC_ACQUIRE);
  }
  return state;
}

bool claim(PointerTable::Entry& entry) {
  uint32_t expected = kEmpty;
  return __atomic_compare_exchange_n(&entry.state, &expected, kOwned, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

}  // namespace

PointerTable::Entry* entry_of(PointerTable& table, const void* owner, const void* name) {
  const size_t first = first_entry(owner, name);
  for (size_t i = 0; i < kPointers; ++i) {
    PointerTable::Entry& entry = table.entries[(first + i) % kPointers];
    if (settled_state(entry) == kEmpty && claim(entry)) {
      entry.owner = owner;
      entry.name = name;
      __atomic_store_n(&entry.state, kFull, __ATOMIC_RELEASE);
      return &entry;
    }
    if (settled_state(entry) != kFull) return nullptr;
    if (entry.owner == owner && entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace sonde::itt
