#include "backends/itt/open_ranges.h"

namespace sonde::itt {
namespace {

enum State : uint32_t { kEmpty = 0, kOwned = 1, kFull = 2 };

uint64_t mix(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdull;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ull;
  return value ^ (value >> 33);
}

size_t first_slot(const RangeKey& key) {
  return mix(mix(mix(mix(key.scope) ^ key.a) ^ key.b) ^ key.c) % kSlots;
}

bool own(OpenRanges::Slot& slot, State from) {
  if (__atomic_load_n(&slot.state, __ATOMIC_RELAXED) != from) return false;
  uint32_t expected = from;
  return __atomic_compare_exchange_n(&slot.state, &expected, kOwned, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

void leave(OpenRanges::Slot& slot, State as) {
  __atomic_store_n(&slot.state, as, __ATOMIC_RELEASE);
}

uint64_t load(const uint64_t& field) { return __atomic_load_n(&field, __ATOMIC_RELAXED); }
void store(uint64_t& field, uint64_t value) { __atomic_store_n(&field, value, __ATOMIC_RELAXED); }

// May be asked about a slot that another thread owns; the answer counts only once the slot is
// owned.
bool same(const RangeKey& x, const RangeKey& y) {
  return load(x.a) == y.a && load(x.scope) == y.scope && load(x.b) == y.b && load(x.c) == y.c;
}

// Looks without owning the slot, so that a search does not hide ranges from threads that end them.
bool looks_same(const OpenRanges::Slot& slot, const RangeKey& key) {
  return __atomic_load_n(&slot.state, __ATOMIC_ACQUIRE) == kFull && same(slot.key, key);
}

void write_key(RangeKey& to, const RangeKey& key) {
  store(to.scope, key.scope);
  store(to.a, key.a);
  store(to.b, key.b);
  store(to.c, key.c);
}

}  // namespace

bool put_range(OpenRanges& ranges, const RangeKey& key, uint64_t range) {
  const size_t first = first_slot(key);
  for (size_t i = 0; i < kWindow; ++i) {
    OpenRanges::Slot& slot = ranges.slots[(first + i) % kSlots];
    if (!own(slot, kEmpty)) continue;
    write_key(slot.key, key);
    slot.range = range;
    leave(slot, kFull);
    return true;
  }
  return false;
}

uint64_t take_range(OpenRanges& ranges, const RangeKey& key) {
  const size_t first = first_slot(key);
  for (size_t i = 0; i < kWindow; ++i) {
    OpenRanges::Slot& slot = ranges.slots[(first + i) % kSlots];
    if (!looks_same(slot, key) || !own(slot, kFull)) continue;
    if (same(slot.key, key)) {
      const uint64_t range = slot.range;
      leave(slot, kEmpty);
      return range;
    }
    leave(slot, kFull);
  }
  return 0;
}

}  // namespace sonde::itt
