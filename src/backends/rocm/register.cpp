// The tables of ROCm's libraries as rocprofiler-register hands them out: HSA's from ROCm 6.1 on,
// HIP's and RCCL's from 6.2. It loads one library, which ROCPROFILER_REGISTER_LIBRARY names: this
// one. Whoever would have had the tables without us gets them next: the library that the variable
// named before, else AMD's SDK where something in the process uses it.
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/hip.h"
#include "backends/hip/table.h"
#include "backends/hsa/runtime.h"
#include "backends/rocm/connection.h"
#include "backends/rocm/rccl.h"
#include "base/errno_keeper.h"

namespace sonde::rocm {
namespace {

using SetTable = int (*)(const char* name, uint64_t version, uint64_t instance, void** tables,
                         uint64_t count);

constexpr const char* kSetTable = "rocprofiler_set_api_table";

SetTable set_table_of(void* library) {
  void* symbol = library != nullptr ? dlsym(library, kSetTable) : nullptr;
  SetTable function;
  memcpy(&function, &symbol, sizeof function);
  return function;
}

// AMD's SDK has clients: one is linked with it, or says that it wants to be asked.
bool sdk_is_wanted() {
  return getenv("ROCP_TOOL_LIBRARIES") != nullptr ||
         dlsym(RTLD_DEFAULT, "rocprofiler_configure") != nullptr;
}

SetTable find_next() {
  const char* named = getenv("SONDE_REGISTER_NEXT");
  if (named != nullptr && *named != '\0') {
    return set_table_of(dlopen(named, RTLD_LAZY | RTLD_LOCAL));
  }
  constexpr const char* kSdk[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0",
                                  "librocprofiler-sdk.so"};
  for (const char* name : kSdk) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr && sdk_is_wanted()) library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library != nullptr) return set_table_of(library);
  }
  return nullptr;
}

void take(const char* name, void* table) {
  if (strcmp(name, "hsa") == 0) {
    take_hsa_tables(table);
  } else if (strcmp(name, "hip") == 0 && wanted("hip")) {
    if (hip::take_table(table) != 0) g_hip_reports_calls = true;
  } else if (strcmp(name, "rccl") == 0 && wanted("hip")) {
    take_rccl_table(table);
  }
}

}  // namespace
}  // namespace sonde::rocm

// 0 = taken. The others get the tables first and wrap what is ours last: ours are called first.
extern "C" __attribute__((visibility("default"))) int rocprofiler_set_api_table(
    const char* name, uint64_t version, uint64_t instance, void** tables, uint64_t count) {
  using namespace sonde::rocm;
  const sonde::ErrnoKeeper keep;
  static const SetTable next = find_next();
  if (next != nullptr) next(name, version, instance, tables, count);
  if (name != nullptr && tables != nullptr && count != 0 && tables[0] != nullptr && connect()) {
    take(name, tables[0]);
  }
  return 0;
}
