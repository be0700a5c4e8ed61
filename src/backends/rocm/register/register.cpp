// The tables of ROCm's libraries, as rocprofiler-register passes them out: HSA's from ROCm 6.1 on,
// HIP's and RCCL's from 6.2. It loads a single library, which ROCPROFILER_REGISTER_LIBRARY names:
// this one. We pass the tables on to the tool that would have got them without us: the library that
// the variable named before, else AMD's SDK if something in the process uses it.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/hip/table.h"
#include "backends/rocm/hsa/runtime.h"
#include "backends/rocm/rccl/rccl.h"
#include "base/errno_keeper.h"
#include "base/loaded_function.h"

namespace sonde::rocm {
namespace {

using SetTable = int (*)(const char* name, uint64_t version, uint64_t instance, void** tables,
                         uint64_t count);

constexpr const char* kSetTable = "rocprofiler_set_api_table";

SetTable set_table_of(void* library) {
  SetTable function = nullptr;
  find_function(library, kSetTable, function);
  return function;
}

// Whether AMD's SDK has clients: one is linked with it, or asks to be configured.
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

// A runtime library, and the interface versions that we know: with others, nothing is replaced.
struct Known {
  const char* name;
  uint64_t oldest, newest;  // major versions
  bool refused;
  const void* taken;  // the table of the first library of this name
};
Known g_known[] = {
    {"hsa", 1, 1, false, nullptr}, {"hip", 6, 7, false, nullptr}, {"rccl", 2, 2, false, nullptr}};
constexpr uint64_t kMajor = 10000;  // version = 10000 major + 100 minor + patch

bool knows_version(Known& known, uint64_t version) {
  const uint64_t major = version / kMajor;
  if (major >= known.oldest && major <= known.newest) return true;
  if (__atomic_exchange_n(&known.refused, true, __ATOMIC_RELAXED)) return false;
  char text[160];
  snprintf(text, sizeof text,
           "version %lu.%lu of %s's table is unknown to this version of Sonde: its calls are not "
           "recorded",
           major, version % kMajor / 100, known.name);
  report(SONDE_WARNING, known.name, text);
  return false;
}

// A program may have two copies of a library, for example when a Python package ships its own. We
// keep only one set of original functions, so the second copy is left alone.
bool is_first(Known& known, const void* table) {
  const void* first = nullptr;
  if (__atomic_compare_exchange_n(&known.taken, &first, table, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE) ||
      first == table) {
    return true;
  }
  char text[160];
  snprintf(text, sizeof text,
           "the process has a second library of %s: calls that go to it are not recorded",
           known.name);
  report(SONDE_WARNING, known.name, text);
  return false;
}

void take(const char* name, uint64_t version, void* table) {
  Known* known = nullptr;
  for (Known& one : g_known) {
    if (strcmp(name, one.name) == 0) known = &one;
  }
  const bool is_hsa = strcmp(name, "hsa") == 0;
  if (known == nullptr || (!is_hsa && !wanted("hip"))) return;
  if (!knows_version(*known, version)) {
    if (is_hsa) g_hsa_refused = true;
    return;
  }
  if (is_hsa) {
    take_hsa_tables(table);
  } else if (!is_first(*known, table)) {
    return;
  } else if (strcmp(name, "rccl") == 0) {
    take_rccl_table(table);
  } else if (hip::take_table(table) != 0) {
    g_hip_reports_calls = true;
  }
}

}  // namespace
}  // namespace sonde::rocm

// Other tools get the tables first, so our wrappers are outermost and are called first.
//
// Returning 0 (taken) makes the HSA runtime ignore HSA_TOOLS_LIB. So it gets the answer that it
// would get without us, and loads the user's tools; load() notices when it loads us again.
extern "C" __attribute__((visibility("default"))) int rocprofiler_set_api_table(
    const char* name, uint64_t version, uint64_t instance, void** tables, uint64_t count) {
  using namespace sonde::rocm;
  constexpr int kNobodyElse = 1;
  const sonde::ErrnoKeeper keep;
  static const SetTable next = find_next();
  const bool is_hsa = name != nullptr && strcmp(name, "hsa") == 0;
  int status = is_hsa ? kNobodyElse : 0;
  if (next != nullptr) status = next(name, version, instance, tables, count);
  if (name != nullptr && tables != nullptr && count != 0 && tables[0] != nullptr && connect()) {
    take(name, version, tables[0]);
  }
  return status;
}
