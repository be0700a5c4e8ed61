// Notes the newest failed HIP call on the board.
#include <stdio.h>

#include "agent/platform.h"
#include "backends/rocm/hsa/board.h"
#include "backends/rocm/hsa/call_errors.h"

namespace sonde::hsa {
namespace {

constexpr int kNotReady = 600;  // not an error but the answer to a query

agent::BoundedLock g_lock;

// The caller holds the lock.
void put(wire::BoardCallError& entry, const char* function, int code, const CallMemory& memory) {
  __atomic_store_n(&entry.time_ns, 0, __ATOMIC_RELEASE);
  entry.repeated_ns = 0;
  entry.code = code;
  ++entry.calls;
  entry.to = memory.to;
  entry.from = memory.from;
  entry.bytes = memory.bytes;
  entry.frees = memory.frees ? 1 : 0;
  snprintf(entry.function, sizeof entry.function, "%s", function);
  take_stack(&entry.stack);
  __atomic_store_n(&entry.time_ns, board_now_ns(), __ATOMIC_RELEASE);
}

}  // namespace

void note_call_error(const char* function, int code, const CallMemory& memory) {
  if (code == 0 || code == kNotReady) return;
  wire::Board* board_now = board();
  if (board_now == nullptr || !g_lock.acquire()) return;
  put(board_now->call_error, function, code, memory);
  g_lock.release();
}

void note_repeated_error(const char* function, int code) {
  if (code == 0 || code == kNotReady) return;
  wire::Board* board_now = board();
  if (board_now == nullptr || !g_lock.acquire()) return;
  wire::BoardCallError& entry = board_now->call_error;
  if (entry.time_ns != 0 && entry.code == code) {
    __atomic_store_n(&entry.repeated_ns, board_now_ns(), __ATOMIC_RELAXED);
  } else {
    put(entry, function, code, {});
  }
  g_lock.release();
}

}  // namespace sonde::hsa
