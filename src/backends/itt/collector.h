// What the files of the itt backend share: its state, the names of domains, and each file's list of
// functions for a copy of the static part.
//
// They run only after a copy was filled, so there is an agent.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <span>

#include "backends/itt/itt_abi.h"
#include "backends/itt/open_ranges.h"
#include "backends/itt/pointer_table.h"
#include "backends/markers/markers.h"
#include "backends/markers/text_set.h"
#include "base/made_text.h"

namespace sonde::itt {

struct State {
  markers::Connection connection;
  int paused;
  OpenRanges ranges;
  PointerTable domain_ids;
  PointerTable counter_totals;
  markers::TextSet domains;
  markers::TextSet strings;
  markers::TextSet counters;
};
extern State g_state;

inline const markers::Agent* agent() { return g_state.connection.agent; }

struct NamedFunction {
  const char* name;  // as in the copy's list: "__itt_task_begin"
  void* function;
};
using FunctionTable = std::span<const NamedFunction>;
// A NamedFunction entry, by its name without "__itt_".
#define SONDE_ITT_AS(name, function) \
  { "__itt_" #name, reinterpret_cast<void*>(function) }
#define SONDE_ITT(name) SONDE_ITT_AS(name, name)
FunctionTable handle_functions();  // handles.cpp: creates domains, strings and counters
FunctionTable task_functions();    // tasks.cpp: tasks, regions, frames, markers
FunctionTable value_functions();   // values.cpp: counters, metadata
FunctionTable
control_functions();  // control.cpp: pause, thread names, legacy events, marks and frames

// Takes over the domains and strings that a copy created before it was filled.
void adopt_handles(const Global* copy);

// The agent's id of a domain's name; of "itt" for a null domain.
uint32_t domain_id(const Domain* domain);

inline const char* text_of(const StringHandle* handle, const char* otherwise) {
  return handle != nullptr && handle->text != nullptr ? handle->text : otherwise;
}

inline uint32_t intern(const char* text) { return agent()->intern(text, strlen(text)); }

// What kind of thing a keyed range belongs to.
enum Kind : uint64_t { kTask = 0, kRegion = 1, kFrame = 2, kEvent = 3 };
inline RangeKey range_key(uint64_t owner, Kind kind, const Id& id) {
  return {owner * 4 + kind, id.d1, id.d2, id.d3};
}

// Starts a range that end_keyed_range ends, in any thread. False: too many are open.
bool begin_keyed_range(const RangeKey& key, uint32_t domain, uint32_t category, const char* text);
void end_keyed_range(const RangeKey& key);

// Text joined from parts, of any length; truncated if there is no memory.
class Joined : public MadeText {
 public:
  Joined(const char* a, size_t a_length, const char* b, size_t b_length, const char* c,
         size_t c_length);
  Joined(const char* a, const char* b, const char* c)
      : Joined(a, strlen(a), b, strlen(b), c, strlen(c)) {}
};

}  // namespace sonde::itt
