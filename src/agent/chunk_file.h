// Chunk files: made, mapped, given back. All on the slow path.
#pragma once

#include <stdint.h>

#include "wire/chunk.h"

namespace sonde::agent {

// Whether the session's reader lock is free. False if that cannot be determined.
bool is_orphaned();

// The drop reason for an errno of making a chunk.
wire::DropReason reason_of(int error);

// A new chunk of `ring`, with its blocks allocated, mapped, its header filled and visible; or
// nullptr when there is no space or the limit is reached (the reason goes to *reason). `bytes` as
// in wire/chunk.h; if there is no room for that, the smallest chunk is made. Of a larger chunk,
// only the first kChunkBytes are prepared.
wire::ChunkHeader* make_chunk(uint32_t ring, uint64_t file, uint64_t sequence, uint32_t tid,
                              uint64_t bytes, wire::DropReason* reason);
// Has the kernel populate the pages of a part of the chunk that holds no records yet. Cheaper than
// a page fault for each; on failure, the pages fault in as usual.
void prepare_pages(wire::ChunkHeader* chunk, uint64_t from, uint64_t bytes);
// Fills a header for (re)use; the magic, which makes it valid, is stored last.
void start_chunk(wire::ChunkHeader* chunk, uint32_t ring, uint64_t file, uint64_t sequence,
                 uint32_t tid);
// Makes the chunk read-only for us and hands it to the consumer.
void seal_chunk(wire::ChunkHeader* chunk);
// Unmaps and deletes a chunk that the consumer has drained.
void drop_chunk(wire::ChunkHeader* chunk);

inline char* payload(wire::ChunkHeader* chunk) {
  return reinterpret_cast<char*>(chunk) + wire::kHeaderBytes;
}

}  // namespace sonde::agent
