// Chunk files: made, mapped, given back. All slow path.
#pragma once

#include <stdint.h>

#include "wire/chunk.h"

namespace sonde::agent {

// Whether nobody holds the lock of whoever reads the session. Not known: no.
bool is_orphaned();

// Why no chunk was to be had, by errno.
wire::DropReason reason_of(int error);

// A new chunk of `ring`, really allocated on disk and mapped, its header filled and visible; or
// nullptr when there is no space or the limit is reached (the reason goes to *reason). `bytes` as
// in wire/chunk.h; where there is no room for that, the smallest chunk is made. Of a larger one, as
// much as the smallest has is prepared.
wire::ChunkHeader* make_chunk(uint32_t ring, uint64_t file, uint64_t sequence, uint32_t tid,
                              uint64_t bytes, wire::DropReason* reason);
// Has the kernel fill in the pages of a part of the chunk that holds no records yet. Cheaper than a
// page fault for each; if it cannot be done, that is what happens.
void prepare_pages(wire::ChunkHeader* chunk, uint64_t from, uint64_t bytes);
// Fills a header for (re)use; the magic, which makes it valid, is stored last.
void start_chunk(wire::ChunkHeader* chunk, uint32_t ring, uint64_t file, uint64_t sequence,
                 uint32_t tid);
// Makes the chunk read-only for us and ready for the consumer.
void seal_chunk(wire::ChunkHeader* chunk);
// Unmaps and deletes a chunk that the consumer has drained.
void drop_chunk(wire::ChunkHeader* chunk);

inline char* payload(wire::ChunkHeader* chunk) {
  return reinterpret_cast<char*>(chunk) + wire::kHeaderBytes;
}

}  // namespace sonde::agent
