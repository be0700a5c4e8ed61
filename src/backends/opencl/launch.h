// From an enqueue to a pending op: what an enqueue's wrapper does before and after the call. Used
// by wrap.h.
#pragma once

#include "backends/opencl/devices.h"
#include "backends/opencl/queues.h"

namespace sonde::opencl {

struct Launch {
  cl_command_queue handle;
  Queue* queue;  // NULL until the runtime has accepted the handle, if it is new to us
  uint64_t before, after;
  uint64_t noted;  // number on the board, plus 1
  sonde_op op;
};

inline bool needs_bracket(const Launch* launch) {
  return launch->queue != nullptr && launch->queue->device != nullptr &&
         launch->queue->device->brackets.load(std::memory_order_relaxed);
}

inline void launch_begin(Launch* launch, cl_command_queue handle) {
  launch->handle = handle;
  launch->queue = known_queue(handle);
  launch->op = {};
  launch->before = needs_bracket(launch) ? agent().ticks() : 0;
  launch->after = launch->noted = 0;
}

inline void launch_end(Launch* launch) {
  if (launch->before != 0) launch->after = agent().ticks();
}

// Called after a successful enqueue. The event is `own` if the program did not request one, else
// `*user`. Takes ownership of `own`, and retains `*user` while the op is pending.
void launch_commit(Launch* launch, cl_event own, const cl_event* user);

}  // namespace sonde::opencl
