// Ops that were launched and are not known to have finished. Used by the hooks of calls that tell
// the program of completion, by the collector thread and at exit. Each op is recorded exactly once,
// by the first to find it finished; when reap() returns, every op that it saw finished is recorded.
#pragma once

#include <atomic>

#include "backends/opencl/devices.h"
#include "backends/opencl/queues.h"

namespace sonde::opencl {

struct PendingOp {
  PendingOp* next;
  cl_event event;
  Device* device;
  uint64_t noted;          // number on the board, plus 1
  uint64_t before, after;  // ticks around the enqueue, if the device's clock needs them
  sonde_op op;
};

// Appends an op; false without memory (the caller counts the drop).
bool add_pending(Queue* queue, const PendingOp& op);

// Records the finished ops of a queue. On an out-of-order queue, `event`, if given, is searched for
// in the whole list, and other ops are examined only near its front unless `all`.
void reap(Queue* queue, cl_event event, bool all);
void reap_everything();

// Records an op outside the list if its event has finished; false if it has not.
bool record_if_finished(const PendingOp& op);

// How many references to an event are ours. unchanged() is false if that may have changed since:
// then the runtime's count has to be read again.
struct HeldEvents {
  uint32_t releases;
  uint32_t held;
};
HeldEvents held_events(Queue* queue, cl_event event);
bool unchanged(const Queue* queue, const HeldEvents& held);

// In a forked child: forgets the parent's ops.
void forget_pending(Queue* queue);

// The collector thread, the exit handler and the fork handler (collector.cpp).
void start_collector();
void wake_collector();
// Ends the thread of a dormant process once everything has finished. Does not wait long.
void end_collector();

}  // namespace sonde::opencl
