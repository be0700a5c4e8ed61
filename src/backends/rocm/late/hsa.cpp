#include "backends/rocm/late/hsa.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "backends/rocm/hsa/runtime.h"
#include "base/loaded_function.h"

namespace sonde::late {
namespace {

// An exported function of the runtime: a jump through its slot in a table, whose address is in a
// variable of the library.
struct Known {
  const char* name;
  uint32_t offset;
};
constexpr Known kCore[] = {{"hsa_queue_create", 72},
                           {"hsa_queue_destroy", 88},
                           {"hsa_signal_store_relaxed", 344},
                           {"hsa_signal_wait_scacquire", 368}};
constexpr Known kAmd[] = {{"hsa_amd_profiling_set_profiler_enabled", 32},
                          {"hsa_amd_profiling_get_dispatch_time", 48},
                          {"hsa_amd_memory_pool_free", 128}};

template <typename T>
T read(const unsigned char* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

// The variable that the function reads: mov WORD(%rip),%rax; jmp *OFFSET(%rax). nullptr: the
// function has another form.
char* const* word_of(const unsigned char* code, uint32_t offset) {
  constexpr unsigned char kBranchTarget[] = {0xf3, 0x0f, 0x1e, 0xfa};  // endbr64
  constexpr unsigned char kMove[] = {0x48, 0x8b, 0x05};
  if (memcmp(code, kBranchTarget, sizeof kBranchTarget) == 0) code += sizeof kBranchTarget;
  if (memcmp(code, kMove, sizeof kMove) != 0) return nullptr;
  const auto distance = read<int32_t>(code + sizeof kMove);
  code += sizeof kMove + sizeof distance;
  const bool jumps = code[0] == 0xff && ((code[1] == 0x60 && code[2] == offset) ||
                                         (code[1] == 0xa0 && read<uint32_t>(code + 2) == offset));
  if (!jumps) return nullptr;
  return reinterpret_cast<char* const*>(reinterpret_cast<uintptr_t>(code) +
                                        static_cast<uintptr_t>(int64_t{distance}));
}

// The table, if all these functions read the same variable.
template <size_t Count>
char* table_of(void* library, const Known (&known)[Count]) {
  char* const* word = nullptr;
  for (const Known& each : known) {
    const auto* code = static_cast<const unsigned char*>(dlsym(library, each.name));
    char* const* read = code != nullptr ? word_of(code, each.offset) : nullptr;
    if (read == nullptr || (word != nullptr && word != read)) return nullptr;
    word = read;
  }
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

// Never closed: the library stays loaded.
void* loaded_library() {
  static void* library;
  if (library == nullptr) library = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library;
}

bool has_started(void* library) {
  hsa::Status (*get_info)(uint32_t, void*) = nullptr;
  uint64_t frequency = 0;
  return find_function(library, "hsa_system_get_info", get_info) &&
         get_info(hsa::kSystemTimestampFrequency, &frequency) == hsa::kSuccess;
}

}  // namespace

bool is_hsa_loaded() { return loaded_library() != nullptr; }

const char* begin_hsa(bool ops) {
  void* library = loaded_library();
  if (library == nullptr || !has_started(library)) return "";
  hsa::ApiTable table = {};
  table.version.major_id = 1;
  table.core = table_of(library, kCore);
  table.amd = table_of(library, kAmd);
  if (table.core == nullptr || table.amd == nullptr) {
    return "the location of its tables is unknown for this version";
  }
  return hsa::begin_attached(&table, ops);
}

bool is_hsa_recorded() { return hsa::is_open(); }

void end_hsa() { hsa::end_attached(); }

}  // namespace sonde::late
