// What the marker backends (roctx, nvtx, itt) share: the agent, looked up once, range ids that are
// always valid for the program, and the pause switch of an annotation library.
//
// Everything here is header-only and hidden, so each backend has a copy of its own. Nothing locks,
// and the program's errno is preserved.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/errno_keeper.h"
#include "sonde/backend.h"

namespace sonde::markers {

// backend.h has a function of the same name, so C++ needs `struct` to name the type.
using Agent = struct sonde_agent;

// The agent as a backend sees it. Two threads that look it up at once find the same one.
struct Connection {
  const Agent* agent;
  uint32_t domain;  // for markers without a domain
  int looked_up;
};

inline const Agent* connect(Connection& connection, const char* default_domain) {
  if (__atomic_load_n(&connection.looked_up, __ATOMIC_ACQUIRE) == 0) {
    const ErrnoKeeper keep;
    const Agent* agent = ::sonde_find_agent();
    if (agent != nullptr) {
      const uint32_t domain = agent->intern(default_domain, strlen(default_domain));
      __atomic_store_n(&connection.domain, domain, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&connection.agent, agent, __ATOMIC_RELAXED);
    __atomic_store_n(&connection.looked_up, 1, __ATOMIC_RELEASE);
  }
  return __atomic_load_n(&connection.agent, __ATOMIC_RELAXED);
}

// Connects to an agent that cannot be found by name, in a process that is attached to (rocm/late).
inline void connect_to(Connection& connection, const Agent* agent, const char* default_domain) {
  connection.domain = agent->intern(default_domain, strlen(default_domain));
  __atomic_store_n(&connection.agent, agent, __ATOMIC_RELAXED);
  __atomic_store_n(&connection.looked_up, 1, __ATOMIC_RELEASE);
}

inline const char* text_or_empty(const char* text) { return text != nullptr ? text : ""; }

// While nothing is recorded, each range still gets a unique id, distinguished from the agent's by
// the highest bit, so that the program never stops a range that it did not start.
constexpr uint64_t kUnrecordedRange = uint64_t{1} << 63;

inline uint64_t start_range(const Agent* agent, uint32_t domain, uint32_t category,
                            const char* text) {
  static uint64_t unrecorded;
  const uint64_t id = agent != nullptr ? agent->range_start(domain, category, text) : 0;
  if (id != 0) return id;
  const uint64_t own = __atomic_add_fetch(&unrecorded, 1, __ATOMIC_RELAXED);
  return agent != nullptr ? own | kUnrecordedRange : own;
}

inline void stop_range(const Agent* agent, uint64_t id) {
  if (agent != nullptr && id != 0 && (id & kUnrecordedRange) == 0) agent->range_stop(id);
}

// Annotation libraries have an on/off switch, whereas the agent counts stops. `paused` is that
// switch. Resuming what this library never paused turns on a recording that began switched off.
inline void pause_recording(const Agent* agent, int& paused) {
  if (agent != nullptr && __atomic_exchange_n(&paused, 1, __ATOMIC_ACQ_REL) == 0) agent->stop();
}

inline void resume_recording(const Agent* agent, int& paused) {
  if (agent == nullptr) return;
  const bool ours = __atomic_exchange_n(&paused, 0, __ATOMIC_ACQ_REL) == 1;
  if (ours || agent->recording() == 0) agent->start();
}

}  // namespace sonde::markers
