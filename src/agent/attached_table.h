// The tables of a process that was attached to (attach.h): each function first forgets what its
// thread knows of an earlier recording, and does nothing when there is no recording.
#pragma once

#include "agent/attach.h"
#include "agent/events.h"
#include "agent/state.h"

namespace sonde::agent {

// Whether there is a recording. If so, the thread is ready for its events.
inline bool enter_attached() {
  if (load(g_state.left) != 0) return false;
  if (is_of_earlier_recording()) forget_in_this_thread();
  return true;
}

template <auto Function>
struct AsAttached;
template <typename R, typename... A, R (*Function)(A...)>
struct AsAttached<Function> {
  static R call(A... arguments) {
    if (!enter_attached()) return R();
    return Function(arguments...);
  }
};

inline int attached_range_pop(uint32_t domain) { return enter_attached() ? range_pop(domain) : -1; }

// Wraps the functions that record events; definitions belong to no thread and stay as they are.
template <typename Table>
constexpr Table as_attached(Table table) {
  table.range_push = AsAttached<range_push>::call;
  table.range_pop = attached_range_pop;
  table.range_start = AsAttached<range_start>::call;
  table.range_stop = AsAttached<range_stop>::call;
  table.mark = AsAttached<mark>::call;
  table.counter = AsAttached<counter>::call;
  table.metadata = AsAttached<metadata>::call;
  if constexpr (requires { table.call_begin; }) {
    table.call_begin = AsAttached<call_begin>::call;
    table.call_end = AsAttached<call_end>::call;
    table.call_at = AsAttached<call_at>::call;
    table.op = AsAttached<op>::call;
    table.copy_request = AsAttached<copy_request>::call;
    table.range_at = AsAttached<range_at>::call;
    table.name_thread = AsAttached<name_thread>::call;
    table.diagnostic = AsAttached<diagnostic>::call;
    table.dropped = AsAttached<dropped>::call;
    table.clock_snapshot = AsAttached<clock_snapshot>::call;
  }
  return table;
}

}  // namespace sonde::agent
