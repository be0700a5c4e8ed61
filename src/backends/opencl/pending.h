// Ops that were launched and are not known to be finished. Used by the hooks that learn that
// something has finished, by the collector thread and at exit. Each op is recorded exactly once, by
// whoever finds it finished first; when reap() returns, every op it could see finished is recorded.
#pragma once

#include <atomic>

#include "backends/opencl/devices.h"
#include "backends/opencl/queues.h"

namespace sonde::opencl {

struct PendingOp {
  PendingOp* next;
  cl_event event;
  Device* device;
  uint64_t noted;          // on the board, plus 1
  uint64_t before, after;  // ticks around the enqueue, if the device's clock needs them
  sonde_op op;
};

// Appends an op; false without memory (counted as dropped by the caller).
bool add_pending(Queue* queue, const PendingOp& op);

// Records the finished ops of a queue. On an out-of-order queue `event`, if given, is looked for in
// the whole list, and the others only near its front unless `all`.
void reap(Queue* queue, cl_event event, bool all);
void reap_everything();

// Records one op whose event has finished, without the list. False if it has not finished.
bool record_if_finished(const PendingOp& op);

// What the runtime says of a number of references that we may have added to: `held` are ours.
// Returns false if it should be asked again because ours changed meanwhile.
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
void end_collector();  // of a process that is dormant, when all has finished; returns soon in any
                       // case

}  // namespace sonde::opencl
