// Faults of computed kernels. While a thread runs kernel code, its SIGSEGV, SIGBUS, SIGFPE and
// SIGILL end that code and are reported; on any other thread they go to the handler that the
// program has set.
#pragma once

#include <cstdint>

#include "base/pinned.h"
#include "compute/executor.h"

namespace softgpu {

struct FaultSlot {
  void* resume = nullptr;  // saved stack pointer of the thread's own stack
  Outcome outcome;
};

// Makes this thread ready to catch faults (an alternate signal stack) for its lifetime.
class FaultStack : sonde::Pinned {
 public:
  FaultStack();
  ~FaultStack();

 private:
  void* memory_ = nullptr;
};

// From here on a fault of this thread ends in `slot`. nullptr = no longer.
void catch_faults_in(FaultSlot* slot);
// Puts our handlers in place, if the program has replaced them since.
void install_fault_handlers();

}  // namespace softgpu
