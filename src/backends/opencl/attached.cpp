// OpenCL in a running process that is attached to. Each object of a runtime begins with a pointer
// to a dispatch table, through which the ICD loader calls the runtime: our wrappers are written
// into that table. They stay there after the recording, because queues made meanwhile have
// profiling enabled without the program's request, which the wrappers hide.
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/opencl/layer.h"
#include "backends/opencl/pending.h"

namespace sonde::opencl {

bool g_attached;
std::atomic<bool> g_dormant;

namespace {

using GetExtension = void* (*)(const char*);
using GetPlatforms = cl_int (*)(cl_uint, cl_platform_id*, cl_uint*);
using Words = void * [sizeof(cl_icd_dispatch) / sizeof(void*)];

cl_icd_dispatch* g_wrapped;  // a runtime's table

// A shared object of the process.
struct Object {
  const void* address;  // an address in it
  uintptr_t low, high;
  uintptr_t sealed, sealed_end;  // RELRO: read-only since it was loaded
  bool has(const void* at) const {
    return reinterpret_cast<uintptr_t>(at) >= low && reinterpret_cast<uintptr_t>(at) < high;
  }
};

int look_for_object(dl_phdr_info* info, size_t, void* data) {
  auto& wanted = *static_cast<Object*>(data);
  Object object = {wanted.address, UINTPTR_MAX, 0, 0, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + part.p_vaddr, end = begin + part.p_memsz;
    if (part.p_type == PT_GNU_RELRO) {
      object.sealed = begin;
      object.sealed_end = end;
    }
    if (part.p_type != PT_LOAD) continue;
    if (begin < object.low) object.low = begin;
    if (end > object.high) object.high = end;
  }
  if (!object.has(wanted.address)) return 0;
  wanted = object;
  return 1;
}

// Changes the protection of a table's pages if they are RELRO.
void protect(const Object& object, const void* table, int protection) {
  const auto begin = reinterpret_cast<uintptr_t>(table);
  if (begin >= object.sealed_end || begin + sizeof(cl_icd_dispatch) <= object.sealed) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t from = begin / page * page;
  const uintptr_t to = (begin + sizeof(cl_icd_dispatch) + page - 1) / page * page;
  mprotect(reinterpret_cast<void*>(from), to - from, protection);
}

// In a table that is shorter than ours, the first word that is not a function ends it.
size_t count_functions(const Object& object, const Words& words) {
  size_t count = 0;
  for (void* const word : words) {
    if (word != nullptr && !object.has(word)) break;
    ++count;
  }
  return count;
}

bool wrap_table(cl_icd_dispatch* table, const Agent* agent) {
  Object object = {table, 0, 0, 0, 0};
  if (dl_iterate_phdr(look_for_object, &object) == 0) return false;
  Words words;
  memcpy(&words, static_cast<void*>(table), sizeof words);
  const size_t count = count_functions(object, words);
  cl_icd_dispatch next = {};
  memcpy(static_cast<void*>(&next), &words, count * sizeof(void*));
  if (next.clGetPlatformInfo == nullptr || next.clCreateContext == nullptr) return false;
  Words ours;
  memcpy(&ours, static_cast<const void*>(&wrap(next, agent)), sizeof ours);
  protect(object, table, PROT_READ | PROT_WRITE);
  auto* place = reinterpret_cast<void**>(table);
  for (size_t i = 0; i < count; ++i) {
    if (words[i] != ours[i]) __atomic_store_n(&place[i], ours[i], __ATOMIC_RELEASE);
  }
  protect(object, table, PROT_READ);
  g_wrapped = table;
  return true;
}

struct Names {
  char* paths[4096];
  size_t count;
};

int add_name(dl_phdr_info* info, size_t, void* data) {
  auto& names = *static_cast<Names*>(data);
  if (info->dlpi_name == nullptr || strstr(info->dlpi_name, ".so") == nullptr) return 0;
  if (names.count == sizeof names.paths / sizeof names.paths[0]) return 1;
  char* copy = strdup(info->dlpi_name);
  if (copy != nullptr) names.paths[names.count++] = copy;
  return 0;
}

// Finds a runtime's entry point as the ICD loader does; nullptr: the library is not a runtime.
GetPlatforms platforms_of(void* library) {
  const auto* map = static_cast<const link_map*>(library);  // a handle is a link_map in glibc
  Dl_info place;
  GetExtension get_extension = nullptr;
  void* symbol = dlsym(library, "clGetExtensionFunctionAddress");
  // Ignores symbols that come from the library's dependencies, and the ICD loader itself, which
  // would load runtimes.
  if (symbol == nullptr || dladdr(symbol, &place) == 0 ||
      reinterpret_cast<uintptr_t>(place.dli_fbase) != map->l_addr ||
      strstr(map->l_name, "/libOpenCL.so") != nullptr) {
    return nullptr;
  }
  memcpy(&get_extension, &symbol, sizeof symbol);
  GetPlatforms get = nullptr;
  void* const found = get_extension("clIcdGetPlatformIDsKHR");
  memcpy(&get, &found, sizeof found);
  return get;
}

// The dispatch table of the runtime in a library; nullptr: not a runtime, or no platform yet.
cl_icd_dispatch* table_in(const char* path) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const GetPlatforms get = platforms_of(library);
  cl_platform_id platform = nullptr;
  cl_uint count = 0;
  const bool found = get != nullptr && get(1, &platform, &count) == CL_SUCCESS && count != 0;
  dlclose(library);
  if (!found || platform == nullptr) return nullptr;
  cl_icd_dispatch* table = nullptr;
  memcpy(&table, platform, sizeof table);
  return table;
}

struct Runtimes {
  cl_icd_dispatch* first;
  bool has_others;
};

Runtimes find_runtimes() {
  Runtimes runtimes = {};
  auto* names = static_cast<Names*>(calloc(1, sizeof(Names)));
  if (names == nullptr) return runtimes;
  dl_iterate_phdr(add_name, names);
  for (size_t i = 0; i < names->count; ++i) {
    cl_icd_dispatch* table = table_in(names->paths[i]);
    if (table != nullptr && runtimes.first == nullptr) {
      runtimes.first = table;
    } else if (table != nullptr && table != runtimes.first) {
      runtimes.has_others = true;
    }
    free(names->paths[i]);
  }
  free(names);
  return runtimes;
}

}  // namespace
}  // namespace sonde::opencl

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

// Called repeatedly in a process that is attached to (rocm/late). Returns nullptr if calls are
// recorded now, "" if there is no runtime yet, else the reason why not.
SONDE_EXPORT const char* sonde_opencl_attach(const struct sonde_agent* agent) {
  using namespace sonde::opencl;
  if (g_wrapped == nullptr) {
    const Runtimes runtimes = find_runtimes();
    if (runtimes.first == nullptr) return "";
    if (!wrap_table(runtimes.first, agent)) return "its runtime's table of functions is not known";
    if (runtimes.has_others) {
      agent->diagnostic(SONDE_WARNING, "opencl",
                        "the process has several OpenCL runtimes: only one is recorded");
    }
  }
  g_attached = true;
  g_dormant.store(false);
  return nullptr;
}

SONDE_EXPORT void sonde_opencl_detach(void) {
  using namespace sonde::opencl;
  if (g_wrapped == nullptr) return;
  g_dormant.store(true);
  end_collector();
}
