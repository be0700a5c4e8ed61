// What the parts of this backend share: the agent, and what the thread's current call into HIP is,
// so that the packets it makes can be linked to it. Set by hip/, read by hsa/.
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
// Finds the agent; which parts of the library the user wants. False: none is to do anything.
bool connect();
bool wanted(const char* part);
// The process was attached to while it ran (late/), with this list instead of the environment's.
extern bool g_attached;
void connect_attached(const Agent* agent, const char* parts);

inline const Agent& agent() { return *g_agent; }
inline bool recording() { return g_agent->recording() != 0; }

// A launch of work, as its packets need to know it.
struct Launch {
  uint64_t correlation;  // 0 = outside of any recorded call
  uint64_t stream;
  uint32_t flags;  // SONDE_OP_* flags of its ops
  uint32_t name;   // intern()ed, of the kernel; where HIP reports the ops itself
};
extern constinit thread_local Launch t_launch;
// The function of HIP that the thread has called last, or nullptr.
extern constinit thread_local const char* t_called;

// Set once the HSA part has hooked the runtime and so reports the ops: HIP's own records are not
// wanted then.
extern bool g_hsa_reports_ops;

// Set once HIP reports its calls: what it calls the runtime below for is not the program's doing
// then.
extern bool g_hip_reports_calls;
// Set while it does so by its own callbacks, of ROCm 5.2.
extern bool g_hip_callbacks;

// Set once the HSA runtime's version is found to be none that is known.
extern bool g_hsa_refused;

// The tables of the HSA runtime (an hsa::ApiTable), however they came.
void take_hsa_tables(void* table);

// Of a table of functions that begins with its size in bytes.
inline size_t entries_of(const void* table) {
  const size_t words = *static_cast<const size_t*>(table) / sizeof(void*);
  return words != 0 ? words - 1 : 0;
}

inline uint64_t word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }
inline void report(int severity, const char* source, const char* text) {
  g_agent->diagnostic(severity, source, text);
}

}  // namespace sonde::rocm
