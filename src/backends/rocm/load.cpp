// How this backend gets into the program: preloaded with the agent, for calls that a program makes
// by the names of HIP's functions (hip/exports.cpp), and as a tool of the HSA runtime
// (HSA_TOOLS_LIB: hsa_tool), which calls it within hsa_init(). HIP starts that runtime in its first
// call, before it checks for callbacks; so no call is missed if HIP's callbacks report the calls.
#include <stdlib.h>
#include <string.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/hip/hip.h"
#include "backends/rocm/hsa/runtime.h"
#include "base/errno_keeper.h"

namespace sonde::rocm {

const Agent* g_agent;
constinit thread_local Launch t_launch = {};
constinit thread_local const char* t_called = nullptr;
bool g_hsa_reports_ops;
bool g_hip_reports_calls;
bool g_hip_callbacks;
bool g_hsa_refused;
bool g_attached;

namespace {
char g_parts[128];  // for a process that is attached to
}

void connect_attached(const Agent* agent, const char* parts) {
  g_agent = agent;
  strncpy(g_parts, parts, sizeof g_parts - 1);
  g_attached = true;
}

// Whether the user wants this part, by the recorder's list: "hsa:hip", or nothing.
bool wanted(const char* part) {
  const char* list = g_attached ? g_parts : getenv("SONDE_ROCM");
  if (list == nullptr) return false;
  const size_t length = strlen(part);
  for (const char* at = list; (at = strstr(at, part)) != nullptr; at += length) {
    const bool begins = at == list || at[-1] == ':';
    if (begins && (at[length] == '\0' || at[length] == ':')) return true;
  }
  return false;
}

bool connect() {
  if (g_agent == nullptr) g_agent = sonde_find_agent();
  return g_agent != nullptr;
}

void take_hsa_tables(void* table) {
  if (g_hsa_refused) return;
  g_hsa_reports_ops = hsa::load(static_cast<hsa::ApiTable*>(table), wanted("hsa"));
  if (g_hsa_reports_ops) hip::use_hsa_ops();
}

}  // namespace sonde::rocm

using namespace sonde;

extern "C" {

__attribute__((visibility("default"))) bool sonde_hsa_on_load(hsa::ApiTable* table, uint64_t,
                                                              uint64_t, const char* const*) {
  const ErrnoKeeper keep;
  if (!rocm::connect()) return true;
  rocm::take_hsa_tables(table);
  // Unless HIP has passed us its table.
  if (rocm::wanted("hip") && !rocm::g_hip_reports_calls) {
    rocm::g_hip_reports_calls = hip::register_callbacks();
  }
  return true;
}

__attribute__((visibility("default"))) void sonde_hsa_on_unload() {
  const ErrnoKeeper keep;
  if (rocm::g_hsa_reports_ops) hsa::unload();
}

__attribute__((destructor)) static void at_exit() {
  const ErrnoKeeper keep;
  if (rocm::g_hsa_reports_ops) hsa::collect_last();
}
}
