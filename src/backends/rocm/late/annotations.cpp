#include "backends/rocm/late/annotations.h"

#include <link.h>
#include <stdint.h>

#include "backends/itt/itt_abi.h"
#include "backends/nvtx/nvtx_abi.h"
#include "backends/rocm/connection.h"
#include "backends/rocm/late/libraries.h"

namespace sonde::late {
namespace {

// How the data of an NVTX 3 client begins.
struct NvtxClient {
  uint64_t state;  // in the lower half
  nvtx::CallbackTable callbacks;
  size_t version_bytes;
  uint32_t version, reserved;
  void (*set_version)(uint32_t);
};
static_assert(sizeof(NvtxClient) == 48);
constexpr uint64_t kReady = 2;
constexpr size_t kVersionBytes = 24;
constexpr uint32_t kMostVersion = 99;

using Attach = void (*)(const struct sonde_agent*);
using FillNvtx = int (*)(nvtx::GetExportTable);
using FillItt = void (*)(itt::Global*, int);

FillNvtx g_fill_nvtx;
FillItt g_fill_itt;
const NvtxClient* g_client;  // the client that is being filled
bool g_waits;

struct Task {
  bool nvtx, itt;  // kinds to look for
  bool fills;      // whether to fill what is found
  Annotations found;
};

struct Object {
  uintptr_t low = UINTPTR_MAX, high = 0;
  bool has(uintptr_t at) const { return at >= low && at < high; }
};

template <typename Function>
bool bring_in(const char* library, const char* attach_name, const char* fill_name, Function& fill) {
  Attach attach = nullptr;
  void* const loaded = load_beside(library);
  if (!find_function(loaded, attach_name, attach) || !find_function(loaded, fill_name, fill)) {
    return false;
  }
  attach(rocm::g_agent);
  return true;
}

const void* export_table(uint32_t id) {
  return id == nvtx::kTableCallbacks ? &g_client->callbacks : nullptr;
}

// Whether no tool has set the client's functions.
bool is_unset(const NvtxClient& client) {
  nvtx::AnyFunction** functions = nullptr;
  unsigned count = 0;
  if (client.callbacks.get_module_functions(nvtx::kModuleCore, &functions, &count) == 0 ||
      functions == nullptr || count <= nvtx::kRangePop) {
    return false;
  }
  constexpr nvtx::CoreFunction kSome[] = {nvtx::kMarkA, nvtx::kRangePushA, nvtx::kRangePop};
  for (const nvtx::CoreFunction each : kSome) {
    if (functions[each] == nullptr || *functions[each] != nullptr) return false;
  }
  return true;
}

bool is_nvtx(const Object& object, const NvtxClient& client) {
  return client.callbacks.struct_size == sizeof(nvtx::CallbackTable) &&
         client.version_bytes == kVersionBytes && client.state <= kReady && client.version != 0 &&
         client.version <= kMostVersion && client.reserved == 0 &&
         object.has(reinterpret_cast<uintptr_t>(client.callbacks.get_module_functions)) &&
         object.has(reinterpret_cast<uintptr_t>(client.set_version));
}

void fill_nvtx(const NvtxClient& client, Task& task) {
  task.found.nvtx = true;
  if (!task.fills) return;
  if (__atomic_load_n(&client.state, __ATOMIC_ACQUIRE) != kReady) {
    g_waits = true;
  } else if (is_unset(client)) {
    g_client = &client;
    g_fill_nvtx(export_table);
  }
}

bool is_itt(const itt::Global& copy) {
  return memcmp(copy.magic, itt::kMagic, sizeof itt::kMagic) == 0 && copy.functions != nullptr &&
         copy.version_major >= 2 && copy.version_major < 100;
}

// A copy that has found no collector has set all its functions to no-ops.
void fill_itt(itt::Global& copy, Task& task) {
  if (copy.library != nullptr) return;
  task.found.itt = true;
  if (!task.fills) return;
  if (__atomic_load_n(&copy.api_initialized, __ATOMIC_ACQUIRE) == 0) {
    g_waits = true;
  } else {
    g_fill_itt(&copy, -1);
  }
}

void look_at_data(const Object& object, char* at, const char* end, Task& task) {
  if (at == nullptr) return;
  for (; static_cast<size_t>(end - at) >= sizeof(NvtxClient); at += sizeof(uint64_t)) {
    if (task.nvtx) {
      const auto& client = *reinterpret_cast<const NvtxClient*>(at);
      if (is_nvtx(object, client)) fill_nvtx(client, task);
    }
    if (task.itt && static_cast<size_t>(end - at) >= sizeof(itt::Global)) {
      auto& copy = *reinterpret_cast<itt::Global*>(at);
      if (is_itt(copy)) fill_itt(copy, task);
    }
  }
}

// Searches the initialised, writable data: the writable segments without RELRO, with which they
// begin.
int look_at_object(dl_phdr_info* info, size_t, void* data) {
  Object object;
  uintptr_t sealed_end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_RELRO) sealed_end = begin + part.p_memsz;
    if (part.p_type != PT_LOAD) continue;
    if (begin < object.low) object.low = begin;
    if (begin + part.p_memsz > object.high) object.high = begin + part.p_memsz;
  }
  if (object.has(reinterpret_cast<uintptr_t>(&look_at_object))) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
    uintptr_t begin = info->dlpi_addr + part.p_vaddr;
    const uintptr_t end = begin + part.p_filesz;
    if (sealed_end > begin && sealed_end <= end) begin = sealed_end;
    begin = (begin + 7) / 8 * 8;
    if (begin >= end) continue;
    look_at_data(object, reinterpret_cast<char*>(begin), reinterpret_cast<const char*>(end),
                 *static_cast<Task*>(data));
  }
  return 0;
}

}  // namespace

Annotations find_annotations(bool nvtx, bool itt) {
  g_waits = false;
  Task looks = {nvtx, itt, false, {}};
  dl_iterate_phdr(look_at_object, &looks);
  Task fills = {false, false, true, {}};
  fills.nvtx = looks.found.nvtx && bring_in("libsonde-nvtx.so", "sonde_nvtx_attach",
                                            "InitializeInjectionNvtx2", g_fill_nvtx);
  fills.itt = looks.found.itt &&
              bring_in("libsonde-itt.so", "sonde_itt_attach", "__itt_api_init", g_fill_itt);
  if (fills.nvtx || fills.itt) dl_iterate_phdr(look_at_object, &fills);
  return fills.found;
}

bool annotations_wait() { return g_waits; }

}  // namespace sonde::late
