// The board's allocations, found by the pointer that they are freed by, through an index beside the
// board.

#include "agent/platform.h"
#include "backends/rocm/hsa/board.h"

namespace sonde::hsa {
namespace {

using wire::BoardAllocation;
using wire::kBoardAllocations;

constexpr uint32_t kBuckets = 8192;
constexpr uint32_t kNone = 0;  // indexes are stored plus 1

struct Index {
  uint32_t first[kBuckets];  // live entries with this hash
  uint32_t behind[kBoardAllocations];
  uint64_t key[kBoardAllocations];
  uint32_t freed[kBoardAllocations];  // ring buffer, the oldest at `oldest`
  uint32_t oldest, freed_count;
};
Index* g_index;  // under g_lock
agent::BoundedLock g_lock;

uint32_t bucket_of(uint64_t key) {
  return static_cast<uint32_t>(((key >> 6) * 0x9e3779b97f4a7c15u) >> 51);
}

bool prepared() {
  if (g_index == nullptr) g_index = static_cast<Index*>(agent::map_memory(sizeof(Index)));
  return g_index != nullptr;
}

// An unused entry, or the one that was freed the longest ago.
uint32_t free_place(wire::Board* board) {
  if (board->allocation_count < kBoardAllocations) return ++board->allocation_count;
  if (g_index->freed_count == 0) return kNone;
  const uint32_t place = g_index->freed[g_index->oldest];
  g_index->oldest = (g_index->oldest + 1) % kBoardAllocations;
  --g_index->freed_count;
  return place;
}

void put(wire::Board* board, uint64_t key, const BoardAllocation& made) {
  ++board->allocations_made;
  const uint32_t place = free_place(board);
  if (place == kNone) {
    ++board->allocations_lost;
    return;
  }
  BoardAllocation& entry = board->allocations[place - 1];
  __atomic_store_n(&entry.address, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  entry.bytes = made.bytes;
  entry.made_ns = board_now_ns();
  entry.freed_ns = 0;
  entry.gpu = made.gpu;
  entry.kind = made.kind;
  entry.freed.bytes = 0;
  take_stack(&entry.made);
  __atomic_store_n(&entry.address, made.address, __ATOMIC_RELEASE);
  g_index->key[place - 1] = key;
  uint32_t& bucket = g_index->first[bucket_of(key)];
  g_index->behind[place - 1] = bucket;
  bucket = place;
}

void take_out(wire::Board* board, uint64_t key) {
  uint32_t* at = &g_index->first[bucket_of(key)];
  while (*at != kNone && g_index->key[*at - 1] != key) at = &g_index->behind[*at - 1];
  if (*at == kNone) return;
  const uint32_t place = *at;
  *at = g_index->behind[place - 1];
  BoardAllocation& entry = board->allocations[place - 1];
  take_stack(&entry.freed);
  entry.freed_ns = board_now_ns();
  g_index->freed[(g_index->oldest + g_index->freed_count) % kBoardAllocations] = place;
  ++g_index->freed_count;
}

}  // namespace

void note_allocation(const void* key, const void* address, size_t bytes, int gpu,
                     wire::BoardMemory kind) {
  wire::Board* board_now = board();
  if (board_now == nullptr || address == nullptr || !g_lock.acquire()) return;
  BoardAllocation made;
  made.address = rocm::word(address);
  made.bytes = bytes;
  made.gpu = gpu;
  made.kind = kind;
  if (prepared()) put(board_now, rocm::word(key), made);
  g_lock.release();
}

void note_free(const void* key) {
  wire::Board* board_now = board();
  if (board_now == nullptr || key == nullptr || !g_lock.acquire()) return;
  if (prepared()) take_out(board_now, rocm::word(key));
  g_lock.release();
}

}  // namespace sonde::hsa
