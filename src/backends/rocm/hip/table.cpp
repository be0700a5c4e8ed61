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

#define X(id, place, name, category, weight, count, parameters) \
  reinterpret_cast<void*>(Entry<k_##name, Signature<k_##name>>::call),
void* const kEntries[] = {
#include "backends/rocm/hip/functions.inc"
};
#undef X

constexpr uint16_t kPlaces[] = {
#define X(id, place, name, category, weight, count, parameters) place,
#include "backends/rocm/hip/functions.inc"
#undef X
};

// Two versions have this many entries, in a different order after the first 445.
constexpr size_t kTwoOrders = 461, kSameInAll = 445;

}  // namespace

size_t take_table(void* table) {
  size_t entries = rocm::entries_of(table);
  if (entries == kTwoOrders) entries = kSameInAll;
  prepare_functions(has_newer_data());
  size_t taken = 0;
  for (size_t i = 0; i < kFunctionCount; ++i) {
    if (kPlaces[i] == 0 || kPlaces[i] >= entries) continue;
    void** slot = static_cast<void**>(table) + 1 + kPlaces[i];
    if (*slot == nullptr || *slot == kEntries[i]) continue;
    g_next[i] = *slot;
    *slot = kEntries[i];
    ++taken;
  }
  return taken;
}

}  // namespace sonde::hip
