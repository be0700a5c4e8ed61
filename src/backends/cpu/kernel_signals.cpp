#include "backends/cpu/kernel_signals.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The restorer of signal handlers. Debuggers and unwinders recognise it by exactly these bytes.
asm(R"(
  .text
  .type sonde_cpu_restore, @function
sonde_cpu_restore:
  movq $15, %rax
  syscall
  .size sonde_cpu_restore, . - sonde_cpu_restore
)");
extern "C" __attribute__((visibility("hidden"))) void sonde_cpu_restore();

namespace sonde::cpu {

namespace {

constexpr unsigned long kHasRestorer = 0x04000000;
constexpr size_t kMaskBytes = sizeof(uint64_t);

uint64_t change_mask(int how, uint64_t mask) {
  uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, how, &mask, &before, kMaskBytes);
  return before;
}

}  // namespace

bool get_action(int number, KernelAction& action) {
  return syscall(SYS_rt_sigaction, number, nullptr, &action, kMaskBytes) == 0;
}

bool set_action(int number, const KernelAction& action) {
  return syscall(SYS_rt_sigaction, number, &action, nullptr, kMaskBytes) == 0;
}

void ignore(int number) {
  KernelAction action;
  action.handler = reinterpret_cast<decltype(action.handler)>(1);
  set_action(number, action);
}

void install(int number, void (*handler)(int, siginfo_t*, void*), bool restart) {
  unsigned long flags = SA_SIGINFO | SA_ONSTACK | kHasRestorer;
  if (restart) flags |= SA_RESTART;
  // All signals are blocked for the few microseconds: no handler of the program may longjmp out of
  // ours.
  set_action(number, {handler, flags, sonde_cpu_restore, ~uint64_t{0}});
}

uint64_t block(uint64_t mask) { return change_mask(SIG_BLOCK, mask); }
uint64_t unblock(uint64_t mask) { return change_mask(SIG_UNBLOCK, mask); }
uint64_t set_mask(uint64_t mask) { return change_mask(SIG_SETMASK, mask); }

bool blocks(int tid, int number) {
  char text[2048];
  snprintf(text, sizeof text, "/proc/self/task/%d/status", tid);
  const int fd = open(text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  text[length > 0 ? length : 0] = '\0';
  const char* at = strstr(text, "SigBlk:\t");
  if (at == nullptr) return false;
  uint64_t mask = 0;
  for (at += strlen("SigBlk:\t"); *at != '\n' && *at != '\0'; ++at) {
    mask = mask << 4 | static_cast<uint64_t>(*at <= '9' ? *at - '0' : *at - 'a' + 10);
  }
  return number > 0 && (mask & bit_of(number)) != 0;
}

int next_pending(uint64_t mask, siginfo_t& info) {
  const timespec none = {};
  const long number = syscall(SYS_rt_sigtimedwait, &mask, &info, &none, kMaskBytes);
  return number > 0 ? static_cast<int>(number) : 0;
}

void send_again(const siginfo_t& info) {
  syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), info.si_signo, &info);
}

}  // namespace sonde::cpu
