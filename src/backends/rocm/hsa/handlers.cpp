// Works around a deadlock of HIP 5.2 (ROCclr's direct dispatch): while its calls are traced, the
// handler that runs a stream callback postpones itself as long as the stream's signal is not 0,
// which it becomes only after the callback. HIP registers that handler for "less than 2". While the
// handler runs, the signal reads as 0 in its thread; nothing else reads its value there.
#include <stdlib.h>

#include "backends/rocm/hsa/runtime.h"

namespace sonde::hsa {
namespace {

constexpr uint32_t kLess = 2;  // HSA_SIGNAL_CONDITION_LT
constexpr int64_t kHeldByCallback = 2;

using Handler = bool (*)(int64_t, void*);
struct Held {
  Signal signal;
  Handler handler;
  void* data;
};

thread_local uint64_t t_reads_zero;  // the signal that reads as 0 in this thread

bool run(int64_t value, void* data) {
  auto* held = static_cast<Held*>(data);
  const uint64_t outer = t_reads_zero;
  t_reads_zero = held->signal.handle;
  const bool again = held->handler(value, held->data);
  t_reads_zero = outer;
  if (!again) free(held);
  return again;
}

Status async_handler(Signal signal, uint32_t condition, int64_t value, Handler handler,
                     void* data) {
  Held* held = nullptr;
  if (condition == kLess && value == kHeldByCallback && rocm::g_hip_callbacks) {
    held = static_cast<Held*>(malloc(sizeof(Held)));
  }
  if (held == nullptr) return next().signal_async_handler(signal, condition, value, handler, data);
  *held = {signal, handler, data};
  const Status status = next().signal_async_handler(signal, condition, value, run, held);
  if (status != kSuccess) free(held);
  return status;
}

int64_t load_relaxed(Signal signal) {
  const int64_t value = next().signal_load_relaxed(signal);
  return signal.handle == t_reads_zero && value == kHeldByCallback - 1 ? 0 : value;
}

}  // namespace

bool is_hooked(const Functions& functions) { return functions.signal_load_relaxed == load_relaxed; }

void hook_handlers(Functions* hooks) {
  hooks->signal_async_handler = async_handler;
  hooks->signal_load_relaxed = load_relaxed;
}

}  // namespace sonde::hsa
