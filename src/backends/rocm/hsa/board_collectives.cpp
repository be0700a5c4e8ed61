#include "backends/rocm/hsa/board_collectives.h"

#include <stdio.h>

#include "agent/platform.h"
#include "backends/rocm/hsa/board.h"

namespace sonde::hsa {
namespace {

constexpr uint32_t kCommunicators = 256;

struct Communicator {
  const void* handle;
  uint64_t group, calls, splits;
  int rank, ranks;
};
Communicator g_known[kCommunicators];  // under g_lock
uint32_t g_count;
agent::BoundedLock g_lock;

// The caller holds the lock.
Communicator* find(const void* handle) {
  const uint32_t count = g_count < kCommunicators ? g_count : kCommunicators;
  for (uint32_t i = 0; i < count; ++i) {
    if (g_known[i].handle == handle) return &g_known[i];
  }
  return nullptr;
}

// Copies the communicator's data, after it has counted a call or a split of it.
bool look_up(const void* handle, uint64_t Communicator::*counted, Communicator* copy) {
  if (!g_lock.acquire()) return false;
  Communicator* known = find(handle);
  if (known != nullptr) {
    if (counted != nullptr) ++(known->*counted);
    *copy = *known;
  }
  g_lock.release();
  return known != nullptr;
}

uint64_t put(const Communicator& known, const char* name, uint64_t count, int type, int root) {
  wire::Board* to = board();
  if (to == nullptr) return 0;
  const uint64_t number = __atomic_fetch_add(&to->next_collective, 1, __ATOMIC_RELAXED);
  wire::BoardCollective& entry = to->collectives[number % wire::kBoardCollectives];
  __atomic_store_n(&entry.number, 0, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  entry.communicator = rocm::word(known.handle);
  entry.group = known.group;
  entry.sequence = known.calls;
  entry.begun_ns = board_now_ns();
  entry.returned_ns = 0;
  entry.first_dispatch = entry.dispatches = __atomic_load_n(&to->next_dispatch, __ATOMIC_RELAXED);
  entry.count = count;
  entry.rank = known.rank;
  entry.ranks = known.ranks;
  entry.type = type;
  entry.root = root;
  snprintf(entry.name, sizeof entry.name, "%s", name);
  entry.stack.bytes = 0;
  if (is_watched()) take_stack(&entry.stack);  // a recording has its own call stacks
  __atomic_store_n(&entry.number, number + 1, __ATOMIC_RELEASE);
  return number + 1;
}

}  // namespace

void note_communicator(const void* communicator, uint64_t group, int rank, int ranks) {
  if (communicator == nullptr || !g_lock.acquire()) return;
  // Reuses the entry of a destroyed communicator at the same address.
  Communicator* place = find(communicator);
  if (place == nullptr) place = &g_known[g_count++ % kCommunicators];
  *place = {communicator, group, 0, 0, rank, ranks};
  g_lock.release();
}

Group group_of(const void* communicator) {
  Communicator known;
  return look_up(communicator, nullptr, &known) ? Group{known.group, known.ranks} : Group{};
}

Split note_split(const void* communicator) {
  Communicator known;
  const bool is_known = look_up(communicator, &Communicator::splits, &known);
  return is_known ? Split{known.group, known.splits} : Split{};
}

uint64_t note_joining(const char* name, uint64_t group, int rank, int ranks) {
  return put({nullptr, group, 0, 0, rank, ranks}, name, 0, -1, -1);
}

uint64_t note_collective(const void* communicator, const char* name, uint64_t count, int type,
                         int root) {
  Communicator known;
  const auto counted = wire::is_point_to_point(name) ? nullptr : &Communicator::calls;
  const bool is_known = look_up(communicator, counted, &known);
  return is_known ? put(known, name, count, type, root) : 0;
}

void note_collective_returned(uint64_t number_plus_1) {
  wire::Board* to = board();
  if (to == nullptr || number_plus_1 == 0) return;
  wire::BoardCollective& entry = to->collectives[(number_plus_1 - 1) % wire::kBoardCollectives];
  if (entry.number != number_plus_1) return;
  entry.dispatches = __atomic_load_n(&to->next_dispatch, __ATOMIC_RELAXED);
  __atomic_store_n(&entry.returned_ns, board_now_ns(), __ATOMIC_RELEASE);
}

}  // namespace sonde::hsa
