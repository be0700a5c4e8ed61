#include "backends/itt/pointer_table.h"

namespace sonde::itt {
namespace {

size_t first_entry(const void* owner, const void* name) {
  uint64_t value = reinterpret_cast<uintptr_t>(owner) * 31 + reinterpret_cast<uintptr_t>(name);
  value *= 0x9e3779b97f4a7c15ull;
  return (value >> 40) % kPointers;
}

// Whether `word` is `wanted`; stores it first if the word is still empty.
bool is_or_becomes(uintptr_t& word, uintptr_t wanted) {
  uintptr_t found = __atomic_load_n(&word, __ATOMIC_RELAXED);
  if (found == 0 && __atomic_compare_exchange_n(&word, &found, wanted, false, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED)) {
    return true;
  }
  return found == wanted;
}

}  // namespace

// Each word of a key is set once, by the first thread to come. Between the two words, another
// thread may set a different name for the same owner: the loser moves on to the next entry, and so
// will every later lookup of that key.
PointerTable::Entry* entry_of(PointerTable& table, const void* owner, const void* name) {
  const uintptr_t owner_word = reinterpret_cast<uintptr_t>(owner) + 1;
  const uintptr_t name_word = reinterpret_cast<uintptr_t>(name) + 1;
  const size_t first = first_entry(owner, name);
  for (size_t i = 0; i < kPointers; ++i) {
    PointerTable::Entry& entry = table.entries[(first + i) % kPointers];
    if (is_or_becomes(entry.owner, owner_word) && is_or_becomes(entry.name, name_word)) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace sonde::itt
