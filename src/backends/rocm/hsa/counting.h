// Hardware counters of dispatches. Used by dispatch.cpp, which passes dispatches here while
// counters are wanted, and by collect.cpp and queues.cpp, which drive and end the counting.
//
// Counters belong to a whole device, so nothing may run beside a counted dispatch. A dispatch is
// put into its queue between packets that signal when its turn in the queue has come (`ready`), and
// that block it there until it may run (`go`). It is started when nothing else runs on the device;
// dispatches that are not selected may run concurrently. Everything that the dispatch waits for in
// its queue has completed by then. But a kernel may wait for data from another kernel: if one runs
// for 2 s while others are ready, they are started too, and its counters are discarded.
//
// Behind it the queue is blocked until its counters have been read, so that the program does not
// continue, and perhaps exit, before that.
//
// If there are several passes, the kernel is then replayed for each (replay.h), alone in the whole
// process.
//
// Without SONDE_COUNTERS none of this happens.
#pragma once

#include "backends/rocm/hsa/queues.h"

namespace sonde::hsa {

bool counting();
constexpr uint64_t kCountedPackets = 6;  // the most packets that a dispatch becomes

// Puts a dispatch into its queue, to be started when its turn has come. False: the caller has to
// enqueue it as if nothing were counted.
bool count_dispatch(Queue* queue, const DispatchPacket& packet, const Launch& launch);
// Records finished dispatches and starts those that may run. Returns at once if another thread is
// doing so.
void step_counting();
bool any_counted();
// For polling loops: yields for some rounds, then sleeps briefly.
void pause_a_little(int round);
constexpr int64_t kPatienceNs = 2'000'000'000;
// The queue was destroyed, or the runtime ends: returns how many of its dispatches had not
// finished.
uint64_t lose_counted(const Queue* queue);
// Waits briefly for dispatches of the queue (nullptr: of all) that are running, or whose counters
// are being read.
void settle_counted(const Queue* queue);
void end_counting();

// ---- counter_session.cpp: the counters of one device ----

struct CounterPass;  // what is counted in one run of a kernel
struct CounterSession {
  const Device* device;
  uint32_t alone, sharing;  // running dispatches that are counted, and that are not
  int64_t since_ns;         // when the last of them was started
  bool open;                // gave up: all may run, and nothing is counted
  CounterPass** passes;
  uint32_t pass_count;  // 0: nothing to count
};
// Created at its first use; nullptr without memory.
CounterSession* session_of(const Device* device);
// Vendor-specific packets that start and stop the counters.
const DispatchPacket& start_of(const CounterPass& pass);
const DispatchPacket& stop_of(const CounterPass& pass);
// Records the counters' values for the op.
void read_counters(CounterPass* pass, const struct sonde_op& op);
void free_sessions();

}  // namespace sonde::hsa
