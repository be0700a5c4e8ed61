// System calls that a ptrace stop would end: Linux makes most calls again by itself when the thread
// goes on, but lets epoll_wait, receiving with SO_RCVTIMEO and some others fail with EINTR, though
// no signal came. Used wherever a thread of a program is interrupted. x86-64 only.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>

namespace sonde::record {

// Whether a thread that goes on at this address comes from a 64-bit system call: by another entry
// (int 0x80), the numbers mean other calls.
bool is_after_syscall(pid_t tid, uint64_t address);

// Changes the registers of a stopped thread so that the call that the stop has ended is made again.
// If a signal with a handler is pending, the call fails with EINTR after all, as it would without
// the stop. A timeout of such a call begins anew. False: there is no such call.
bool make_call_again(pid_t tid, user_regs_struct& registers);

// The same with the thread's registers; call it last before the thread goes on.
void make_call_again(pid_t tid);

}  // namespace sonde::record
