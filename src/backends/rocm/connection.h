// What the parts of this backend share: the agent, and the thread's current HIP call, to which the
// packets that it makes are linked. Set by hip/, read by hsa/.
#pragma once

#include <stddef.h>
#include <stdint.h>

// A struct and a function of one name, as C allows: gcc's -Wshadow takes it for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "sonde/backend.h"
#pragma GCC diagnostic pop

namespace sonde::rocm {

using Agent = struct sonde_agent;

// Set once, before any hook is in place; never changed after.
extern const Agent* g_agent;
// Finds the agent and which parts of the library the user wants. False: no part should do anything.
bool connect();
bool wanted(const char* part);
// The process was attached to while running (late/); its list of parts replaces the environment's.
extern bool g_attached;
void connect_attached(const Agent* agent, const char* parts);

inline const Agent& agent() { return *g_agent; }
inline bool recording() { return g_agent->recording() != 0; }

// What a launch's packets need to know about it.
struct Launch {
  uint64_t correlation;  // 0 = outside of any recorded call
  uint64_t stream;
  uint32_t flags;  // SONDE_OP_* flags of its ops
  uint32_t name;   // intern()ed, of the kernel; where HIP reports the ops itself
};
extern constinit thread_local Launch t_launch;
// The HIP function that the thread called last, or nullptr.
extern constinit thread_local const char* t_called;

// Set once the HSA part has hooked the runtime and therefore reports the ops: HIP's own op records
// are not wanted then.
extern bool g_hsa_reports_ops;

// Set once HIP calls are reported: HSA calls that HIP makes are then not the program's.
extern bool g_hip_reports_calls;
// Set while they are reported by HIP's own callbacks, of ROCm 5.2.
extern bool g_hip_callbacks;

// Set once the HSA runtime's version turns out to be unknown.
extern bool g_hsa_refused;

// Takes the HSA runtime's tables (an hsa::ApiTable), however they were obtained.
void take_hsa_tables(void* table);

// The number of entries of a function table that begins with its size in bytes.
inline size_t entries_of(const void* table) {
  const size_t words = *static_cast<const size_t*>(table) / sizeof(void*);
  return words != 0 ? words - 1 : 0;
}

inline uint64_t word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
inline void report(int severity, const char* source, const char* text) {
  g_agent->diagnostic(severity, source, text);
}

}  // namespace sonde::rocm
