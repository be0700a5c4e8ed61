// What happens to the agent when the process forks, by whatever means, and how a thread knows that
// the agent's thread state is its own.
//
// fork() tells us through pthread_atfork. _Fork(), clone() and clone3() call no handlers: their
// child notices by memory that the kernel was asked to wipe, at its first event that needs more
// than its thread's ring, which is wiped as well. vfork() and clone(CLONE_VM) share the memory, and
// what they record belongs to their parent.
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/attach.h"
#include "agent/definitions.h"
#include "agent/spool.h"
#include "agent/window.h"

namespace sonde::agent {

namespace {

constexpr uintptr_t kNear = 1 << 20;  // a stack extends at most so far from where it was seen
constexpr int kLooks = 1000;          // while another thread handles the fork

// Extends a range by an address near to it; false if it is not near.
bool extend(StackRange& range, uintptr_t here) {
  if (range.bytes == 0 || here + kNear < range.low || here > range.low + range.bytes + kNear) {
    return false;
  }
  const uintptr_t low = here < range.low ? here : range.low;
  const uintptr_t high = here < range.low + range.bytes ? range.low + range.bytes : here + 1;
  if (high - low > UINT32_MAX) return false;
  range = {low, static_cast<uint32_t>(high - low)};
  return true;
}

}  // namespace

bool owns_state_elsewhere(uintptr_t here) {
  if (load(g_state.silent) != 0) return false;
  ThreadState& state = t_state;
  if (state.other_stack.has(here)) return true;
  if (is_new_child()) notice_fork();
  const int error = errno;
  const long number = syscall(SYS_gettid);
  if (number < 0) {  // in a sandbox, where nothing can be determined
    errno = error;
    return true;
  }
  const auto tid = static_cast<uint32_t>(number);
  if (state.generation != g_state.generation) {  // not set yet, or from before the fork
    state.generation = g_state.generation;
    state.tid = tid;
    state.stack = state.other_stack = {};
  }
  if (state.tid != tid) return false;
  if (state.stack.bytes == 0) {
    state.stack = {here, 1};
  } else if (!extend(state.stack, here) && !extend(state.other_stack, here)) {
    state.other_stack = {here, 1};
  }
  return true;
}

// A byte that every kind of fork clears, except vfork, which shares memory.
void watch_for_forks() {
  if (g_state.unforked != nullptr) return;
  auto* byte = static_cast<char*>(map_memory(4096));
  if (byte == nullptr || madvise(byte, 4096, MADV_WIPEONFORK) != 0) return;
  *byte = kSeen;
  g_state.unforked = byte;
}

namespace {

// As owns_state(). First, what the thread remembers of an earlier recording is forgotten, as before
// any event of it: this may be where it meets the new one.
bool owns_state_here() {
  if (is_of_earlier_recording()) forget_in_this_thread();
  return owns_state();
}

// So that a child's copy of the log is whole.
void hold_definitions() {
  ThreadState& state = t_state;
  // A forking signal handler may have interrupted another fork of this thread. Or this thread may
  // itself be defining something: then waiting is pointless.
  const bool may_be_defining = state.busy != 0;
  const Inside inside;  // a sample between the lock and its mark would wait for the lock
  if (holds_definitions()) {
    ++state.forking;
  } else if (may_be_defining ? try_lock_definitions() : lock_definitions()) {
    state.fork_generation = g_state.generation;
    state.forking = 1;
  }
}

}  // namespace

void before_fork() {
  if (load(g_state.silent) != 0) return;
  if (owns_state_here()) hold_definitions();
  // A forking signal handler may have interrupted a write into the thread's chunk, which the child
  // does not have.
  ThreadState& state = t_state;
  state.shield = state.busy != 0 && state.ring != nullptr ? state.ring->chunk : nullptr;
  state.shield_units = state.shield != nullptr
                           ? static_cast<uint16_t>(state.shield->chunk_bytes / wire::kChunkBytes)
                           : uint16_t{0};
}

// The thread may not hold the lock: another thread's fork may take longer than the wait for it.
void after_fork_in_parent() {
  if (!owns_state_here()) return;
  const Inside inside;  // as in hold_definitions()
  if (holds_definitions() && --t_state.forking == 0) unlock_definitions();
}

namespace {

// Lets the interrupted write continue, into private memory that nothing reads.
void raise_shield(ThreadState& state) {
  void* memory =
      kernel::map(state.shield, state.shield_units * wire::kChunkBytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (memory == MAP_FAILED || state.ring == nullptr) return;
  // The wiped ring gets a chunk in which to finish a record, and no way to begin another.
  state.ring->chunk = state.shield;
  state.ring->retry_at = UINT64_MAX;
}

void forget_spool() {
  g_state.has_spool = g_state.announced = 0;
  g_state.start_ticks = ticks();
  ++g_state.generation;
  g_state.next_ring = 1;
  g_state.rings = nullptr;
  g_state.parked = nullptr;
  g_state.parked_lock.reset();
  g_state.spool_lock.reset();
  g_state.retry_at = 0;
}

void start_over() {
  ThreadState& state = t_state;
  if (state.shield != nullptr) raise_shield(state);
  forget_ring();
  // A signal handler may have forked while its thread was defining something.
  const uint32_t busy = state.busy;
  const bool whole = holds_definitions() && busy == 0;
  const bool none_holds = whole || try_lock_definitions();
  state = {};
  state.busy = busy;
  forget_spool();
  forget_windows(none_holds);
  g_state.forked = 1;
  reset_definitions_after_fork(whole);
}

}  // namespace

void begin_again() {
  forget_spool();
  reset_definitions_after_fork(true);
}

// The child may already have several threads.
bool notice_fork() {
  if (g_state.unforked == nullptr) return true;
  char expected = kUnseen;
  if (__atomic_compare_exchange_n(g_state.unforked, &expected, kBeingSeen, false, __ATOMIC_ACQUIRE,
                                  __ATOMIC_ACQUIRE)) {
    start_over();
    store_release(*g_state.unforked, kSeen);
    return true;
  }
  for (int i = 0; i < kLooks && load_acquire(*g_state.unforked) == kBeingSeen; ++i) relax();
  return load_acquire(*g_state.unforked) == kSeen;
}

// An event in an earlier fork handler may have noticed already. Without the wiped byte, this
// handler is the only way to notice.
void after_fork_in_child() {
  if (load(g_state.silent) != 0) return;
  if (g_state.unforked == nullptr) return start_over();
  if (is_new_child()) notice_fork();
}

}  // namespace sonde::agent
