// Hardware counters of dispatches. Used by dispatch.cpp, which hands dispatches over while counters
// are wanted, and by collect.cpp and queues.cpp, which drive it and end it.
//
// Counters belong to a whole device, so nothing may run beside a dispatch that is counted. A
// dispatch goes into its queue between packets that tell when its turn in the queue has come
// (`ready`), and that hold it there until it may run (`go`). It is let go when nothing else is
// running on the device; dispatches that are not chosen may run beside each other. What a
// dispatch waits for in its queue is over by then. But a kernel may wait for what another writes:
// if one runs for 2 s while others are ready, they are let go too, and what was counted is given
// up.
//
// Behind it its queue is held until its counters are read, so that the program does not go on, and
// perhaps end, before that.
//
// Where there are several passes, a kernel is run again for each (replay.h) before that. It then
// runs alone in the whole process.
//
// Without SONDE_COUNTERS nothing of this happens.
#pragma once

#include "backends/rocm/hsa/queues.h"

namespace sonde::hsa {

bool counting();
constexpr uint64_t kCountedPackets = 6;  // that a dispatch may become

// Puts a dispatch into its queue, to be let go when its turn has come. False: it is to be put there
// as if nothing were counted.
bool count_dispatch(Queue* queue, const DispatchPacket& packet, const Launch& launch);
// Records what is over and lets go what may run. Returns at once if another thread is at it.
void step_counting();
bool any_counted();
// For whoever looks again and again: yields for some rounds, then sleeps a little.
void pause_a_little(int round);
constexpr int64_t kPatienceNs = 2'000'000'000;
// The queue is no more, or the runtime ends: how many of its dispatches had not ended.
uint64_t lose_counted(const Queue* queue);
// Waits a little for those of the queue (nullptr: of all) that are on the device, or whose counters
// are being read.
void settle_counted(const Queue* queue);
void end_counting();

// ---- counter_session.cpp: the counters of one device ----

struct CounterPass;  // what is counted in one run of a kernel
struct CounterSession {
  const Device* device;
  uint32_t alone, sharing;  // how many run that are counted, and that are not
  int64_t since_ns;         // when the last of them was let go
  bool open;                // patience has ended: all may run, and nothing is counted
  CounterPass** passes;
  uint32_t pass_count;  // 0: there is nothing to count
};
// Made at its first use; nullptr without memory.
CounterSession* session_of(const Device* device);
// Vendor packets.
const DispatchPacket& start_of(const CounterPass& pass);
const DispatchPacket& stop_of(const CounterPass& pass);
// Records what the counters hold, as that of the op.
void read_counters(CounterPass* pass, const struct sonde_op& op);
void free_sessions();

}  // namespace sonde::hsa
