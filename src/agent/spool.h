// The process' spool: its folder in the session directory, and the rings of its threads.
#pragma once

#include <stdint.h>

#include "agent/chunk_file.h"
#include "agent/state.h"
#include "agent/texts.h"
#include "wire/records.h"

namespace sonde::agent {

// What a thread writes into. Lives in memory that a fork wipes (so a child can never write into its
// parent's chunks) and outlives its thread: the next new thread takes it over.
struct Ring {
  wire::ChunkHeader* chunk;  // nullptr: none yet, or wiped by fork
  uint64_t used;             // bytes of its payload
  // End of the pages that are ready; 0 if the chunk is full and there was no next one.
  uint64_t limit;
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
  uint64_t retry_at;              // ticks: no attempt to get a chunk before then
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

// Room for `bytes` in the ring's chunk, or in the next one if need be; nullptr if there is none.
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

// Connects to the session `session`. False: this process is not recorded.
bool attach(const char* session);
// Makes this process' folder and ring 0 if it has none yet. False: no space.
bool ensure_spool();

// Runs when a thread exits.
void park_ring(void* ring);
// Called before the process ends: threads may have been renamed since they began.
void write_last_names();
// Gives back the memory of the rings of an earlier recording.
void wipe_rings(Ring* rings);
// In a forked child: the thread's ring was its parent's.
void forget_ring();

// ---- fork.cpp ----

// The handlers for pthread_atfork.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();
// The process takes part in another recording: as after a fork, except that all its threads are
// still there.
void begin_again();
// Makes every later fork noticeable, also one that calls no handlers: see is_new_child().
void watch_for_forks();
// If is_new_child(): forgets the parent's state. False: another thread is still doing so.
bool notice_fork();

}  // namespace sonde::agent
