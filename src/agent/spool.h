// The process' spool: its folder in the session directory, and the rings of its threads.
#pragma once

#include <stdint.h>

#include "agent/chunk_file.h"
#include "agent/state.h"
#include "agent/texts.h"
#include "wire/records.h"

namespace sonde::agent {

// What a thread writes into. Lives in memory that a fork wipes (so a child can never write into its
// parent's chunks), and outlives its thread: the next new thread takes it over.
struct Ring {
  wire::ChunkHeader* chunk;  // nullptr: none yet, or wiped by fork
  uint64_t used;             // bytes of its payload
  uint64_t limit;            // up to where its pages are ready; 0 once it is full and no other
                             // could be had
  uint32_t index;
  uint32_t tid;
  uint64_t next_sequence, next_file;
  uint64_t next_correlation, next_range;
  uint32_t call_serial;
  struct {
    uint32_t domain, ranges;
  } too_deep[16];                 // ranges open beyond what the chunk's header holds
  uint32_t too_deep_ranges;       // of all domains
  char name[16];                  // of the thread, as recorded
  uint64_t retry_at;              // ticks: no attempt to get a chunk before
  wire::DropReason out_because;   // why the last attempt failed
  wire::ChunkHeader* sealed[64];  // waiting for the consumer, oldest first
  uint32_t sealed_count;
  Ring* next_parked;
  Ring* next_made;
  TextCache texts;
};

// This thread's ring with a chunk, or nullptr (the event is lost: count it with drop_reason()).
Ring* slow_ring();
inline Ring* this_ring() {
  Ring* ring = t_state.ring;
  return ring != nullptr && ring->chunk != nullptr ? ring : slow_ring();
}
wire::DropReason drop_reason();

// Room for `bytes` in the ring's chunk, taking the next chunk if need be; nullptr: none to be had.
char* slow_reserve(Ring* ring, uint64_t bytes);
inline char* reserve(Ring* ring, uint64_t bytes) {
  if (ring->used + bytes <= ring->limit) [[likely]] {
    return payload(ring->chunk) + ring->used;
  }
  return slow_reserve(ring, bytes);
}
inline void commit(Ring* ring, uint64_t bytes) {
  ring->used += bytes;
  store_release(ring->chunk->committed, ring->used);
}

// Connects to the session named by the environment. False: not being recorded.
bool attach(const char* session);
// Makes this process' folder and ring 0 if it has none yet. False: no space.
bool ensure_spool();

// Thread exit.
void park_ring(void* ring);
// Before the process ends: threads may have other names than when they began.
void write_last_names();
// Of an earlier recording of the process: their memory is given back.
void wipe_rings(Ring* rings);
// In a forked child: the thread's ring was its parent's.
void forget_ring();

// ---- fork.cpp ----

// pthread_atfork.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();
// The process takes part in another recording: as if it had just been forked, but that its threads
// are all there.
void begin_again();
// Has every fork seen from now on, also one that calls no handlers: see is_new_child().
void watch_for_forks();
// The process is_new_child(): forgets what was the parent's. False: another thread is still at it.
bool notice_fork();

}  // namespace sonde::agent
