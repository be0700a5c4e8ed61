// What the HSA runtime loads as its tool (HSA_TOOLS_LIB), and tells of its start and its end. The
// names that it calls are names that a program's own plug-ins have, too: they must not be in the
// preloaded library, which stands before those. So this library has them, and nothing else.
#include <stdint.h>

extern "C" {

// rocm/load.cpp, in libsonde-agent.so.
bool sonde_hsa_on_load(void* table, uint64_t version, uint64_t failed, const char* const* names);
void sonde_hsa_on_unload();

__attribute__((visibility("default"))) bool OnLoad(void* table, uint64_t version, uint64_t failed,
                                                   const char* const* names) {
  return sonde_hsa_on_load(table, version, failed, names);
}

__attribute__((visibility("default"))) void OnUnload() { sonde_hsa_on_unload(); }
}
