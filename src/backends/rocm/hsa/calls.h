// Recording of HSA calls that the program, not HIP, makes.
#pragma once

#include "backends/rocm/hsa/runtime.h"

namespace sonde::hsa {

enum CallId : uint32_t {
  kQueueCreate,
  kQueueDestroy,
  kAsyncCopy,
  kAsyncCopyOnEngine,
  kAsyncCopyRect,
  kPoolAllocate,
  kPoolFree,
  kFreeze,
  kCallIds
};
extern uint32_t g_calls[kCallIds];

inline int kind_of(CallId id) {
  if (id == kQueueCreate) return SONDE_CALL_CORRELATED;
  return id <= kAsyncCopyRect ? SONDE_CALL_LAUNCHES : SONDE_CALL_PLAIN;
}

class Call {
 public:
  explicit Call(CallId id) : recorded_(!rocm::g_hip_reports_calls && watching()) {
    if (recorded_) call_ = agent().call_begin(g_calls[id], kind_of(id));
  }
  // The op, linked to this call unless it belongs to a HIP call.
  struct sonde_op linked(struct sonde_op op) const {
    if (recorded_) op.correlation = call_.correlation;
    return op;
  }
  void end(Status status, const uint64_t* words, size_t count) {
    if (recorded_) agent().call_end(&call_, status, words, count);
  }

 private:
  bool recorded_;
  struct sonde_call call_ = {0, 0};
};

}  // namespace sonde::hsa
