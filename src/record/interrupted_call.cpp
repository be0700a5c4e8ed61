#include "record/interrupted_call.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sonde::record {
namespace {

// What asks the kernel to make a call again unless a handler runs: a kernel's own result, which it
// looks for in the registers once all pending signals are dealt with (ERESTARTNOHAND).
constexpr long kUnlessHandled = -514;

// Calls that may fail with EINTR after a stop (signal(7)) and have done nothing then. close() is
// none: it has closed the descriptor.
constexpr std::array kCalls = {
    SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait, SYS_recvfrom,
    SYS_recvmsg,    SYS_recvmmsg,    SYS_accept,       SYS_accept4,         SYS_read,
    SYS_readv,      SYS_pread64,     SYS_preadv,       SYS_preadv2,         SYS_sendto,
    SYS_sendmsg,    SYS_sendmmsg,    SYS_connect,      SYS_write,           SYS_writev,
    SYS_pwrite64,   SYS_pwritev,     SYS_pwritev2,     SYS_semop,           SYS_semtimedop,
    SYS_msgrcv,     SYS_msgsnd,      SYS_io_getevents, SYS_io_pgetevents,   SYS_io_uring_enter};

}  // namespace

bool is_after_syscall(pid_t tid, uint64_t address) {
  constexpr std::array<uint8_t, 2> kSyscall = {0x0f, 0x05};
  std::array<uint8_t, 2> code = {};
  const iovec local = {code.data(), code.size()};
  const iovec remote = {reinterpret_cast<void*>(address - code.size()), code.size()};
  return ::process_vm_readv(tid, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(code.size()) &&
         code == kSyscall;
}

bool make_call_again(pid_t tid, user_regs_struct& registers) {
  const auto number = static_cast<long>(registers.orig_rax);
  if (static_cast<long>(registers.rax) != -EINTR ||
      std::find(kCalls.begin(), kCalls.end(), number) == kCalls.end() ||
      !is_after_syscall(tid, registers.rip)) {
    return false;
  }
  registers.rax = static_cast<unsigned long>(kUnlessHandled);
  return true;
}

void make_call_again(pid_t tid) {
  user_regs_struct registers = {};
  if (::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) == 0 && make_call_again(tid, registers)) {
    ::ptrace(PTRACE_SETREGS, tid, nullptr, &registers);
  }
}

}  // namespace sonde::record
