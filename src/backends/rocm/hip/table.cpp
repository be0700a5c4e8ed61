// HIP's dispatch table, as ROCm 6.2 and later pass it out (rocm/register.cpp): every function of
// the runtime in a fixed order, preceded by the table's size. Ours replace the known ones.
#include "backends/rocm/hip/table.h"

#include "backends/rocm/hip/hip.h"
#include "backends/rocm/hip/interpose.h"
#include "backends/rocm/hip/signatures.h"

namespace sonde::hip {
namespace {

void* g_next[kFunctionCount];

template <Function Id, typename Signature>
struct Entry;

template <Function Id, typename... A>
struct Entry<Id, int(A...)> {
  static int call(A... values) {
    int (*next)(A...);
    memcpy(&next, &g_next[Id], sizeof next);
    return recorded_as<Id, A...>(next, values...);
  }
};

#define S(size) Struct<size>
#define X(id, name, category, weight, parameters, count, types) \
  reinterpret_cast<void*>(Entry<k_##name, int types>::call),
void* const kEntries[] = {
#include "backends/rocm/hip/functions.inc"
};
#undef X

struct Place {
  uint16_t index;
  Function function;
};
constexpr Place kPlaces[] = {
#define Y(index, name) {index, k_##name},
#include "backends/rocm/hip/table.inc"
#undef Y
};

// Two versions have this many entries, in a different order after the first 445.
constexpr size_t kTwoOrders = 461, kSameInAll = 445;

}  // namespace

size_t take_table(void* table) {
  size_t entries = rocm::entries_of(table);
  if (entries == kTwoOrders) entries = kSameInAll;
  prepare_functions(has_newer_data());
  size_t taken = 0;
  for (const Place& place : kPlaces) {
    if (place.index >= entries) continue;
    void** slot = static_cast<void**>(table) + 1 + place.index;
    if (*slot == nullptr || *slot == kEntries[place.function]) continue;
    g_next[place.function] = *slot;
    *slot = kEntries[place.function];
    ++taken;
  }
  return taken;
}

}  // namespace sonde::hip
