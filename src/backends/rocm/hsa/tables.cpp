#include "backends/rocm/hsa/tables.h"

#include <string.h>

namespace sonde::hsa {
namespace {

enum class Part : uint8_t { core, amd, amd_engine };

struct Place {
  Part part;
  uint32_t offset;
};

constexpr Place kPlaces[] = {
#define X(table, offset, name, result, parameters) {Part::table, offset},
#include "backends/rocm/hsa/functions.inc"
#undef X
};
constexpr size_t kCount = sizeof kPlaces / sizeof kPlaces[0];
static_assert(sizeof(Functions) == kCount * sizeof(void*));

constexpr uint32_t kFirstMoved = 144;

// The location of a function's pointer, or nullptr in a version without it.
char* slot_of(const ApiTable& table, const AmdLayout& layout, const Place& place) {
  if (place.part == Part::core) return table.core + place.offset;
  if (place.part == Part::amd_engine) {
    return layout.inserted != 0 ? table.amd + place.offset : nullptr;
  }
  TableVersion version;
  memcpy(&version, table.amd, sizeof version);
  const uint32_t offset = place.offset + (place.offset >= kFirstMoved ? layout.inserted : 0);
  return offset + sizeof(void*) <= version.minor_id ? table.amd + offset : nullptr;
}

bool sound(const ApiTable& table, AmdLayout* layout) {
  if (table.core == nullptr || table.amd == nullptr) return false;
  TableVersion core, amd;
  memcpy(&core, table.core, sizeof core);
  memcpy(&amd, table.amd, sizeof amd);
  *layout = amd_layout(amd.minor_id);
  return core.minor_id >= kCoreBytes && layout->known;
}

}  // namespace

AmdLayout amd_layout(uint32_t minor_id) {
  switch (minor_id) {
    case 360:  // ROCm 4.0 and 4.1
    case 368:  // 4.2
    case 392:  // 4.3
    case 400:  // 4.5 to 5.4
    case 424:  // 5.5
      return {true, 0};
    default:
      // 456 is ROCm 5.6 and 5.7. From 6.0 (552) on the table only grows at its end.
      return {minor_id == 456 || (minor_id >= 552 && minor_id % 8 == 0), 16};
  }
}

bool read_tables(const ApiTable& table, Functions* functions) {
  AmdLayout layout;
  if (!sound(table, &layout)) return false;
  char* out = reinterpret_cast<char*>(functions);
  for (size_t i = 0; i < kCount; ++i, out += sizeof(void*)) {
    const char* slot = slot_of(table, layout, kPlaces[i]);
    if (slot != nullptr) {
      memcpy(out, slot, sizeof(void*));
    } else {
      memset(out, 0, sizeof(void*));
    }
  }
  return true;
}

void write_tables(const ApiTable& table, const Functions& hooks) {
  AmdLayout layout;
  if (!sound(table, &layout)) return;
  const char* from = reinterpret_cast<const char*>(&hooks);
  for (size_t i = 0; i < kCount; ++i, from += sizeof(void*)) {
    void* hook = nullptr;
    memcpy(&hook, from, sizeof hook);
    char* slot = slot_of(table, layout, kPlaces[i]);
    if (hook == nullptr || slot == nullptr) continue;
    // The program may be using the table already.
    __atomic_store_n(reinterpret_cast<void**>(slot), hook, __ATOMIC_RELEASE);
  }
}

}  // namespace sonde::hsa
