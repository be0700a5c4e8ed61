// Faults of kernels. While a thread runs kernel code, SIGSEGV, SIGBUS, SIGFPE and SIGILL end that
// code and are reported; on any other thread they go to the program's handler.
#pragma once

#include <signal.h>

#include <cstdint>

#include "base/pinned.h"
#include "compute/executor.h"

namespace softgpu {

struct FaultSlot {
  void* resume = nullptr;  // saved stack pointer of the thread's own stack
  Outcome outcome;
};

// Prepares this thread for catching faults (an alternate signal stack) during its lifetime.
class FaultStack : sonde::Pinned {
 public:
  FaultStack();
  ~FaultStack();

 private:
  void* memory_ = nullptr;
};

// From now on, a fault of this thread ends in `slot`; nullptr = no longer.
void catch_faults_in(FaultSlot* slot);
// Installs our handlers, if the program has replaced them.
void install_fault_handlers();
// What sigaction() does for a signal whose handler is ours: the program's action is for the faults
// that no kernel has. False if the kernel is to be asked. (LLVM, which loads code in a thread of
// the program, sets the default action of SIGSEGV for moments; a kernel's fault then ended the
// process.)
bool keep_action(int signal, const struct sigaction* action, struct sigaction* before);
// Puts the program's action in the place of ours, where the kernel has said that: in a child, which
// asks the kernel.
void show_own_action(int signal, struct sigaction& before);
// In a child of fork().
void leave_faults_to_parent();

}  // namespace softgpu
