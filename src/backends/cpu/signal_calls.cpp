// libc's signal functions, interposed because the backend is preloaded: they behave as if nothing
// were sampled (signals.h, alternate_stack.h).
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "backends/cpu/alternate_stack.h"
#include "backends/cpu/signals.h"

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace sonde::cpu;

namespace {

// The next functions, looked up before a signal handler can call any of them.
struct Next {
  bool found = false;
  Action sigaction, __sigaction;
  Signal signal, bsd_signal, ssignal, sysv_signal, __sysv_signal;
  AlternateStack sigaltstack;
  SignalFd signalfd;
  TimedWait sigtimedwait;
};
constinit Next g_next = {};

template <typename Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

const Next& next() {
  if (!g_next.found) find_signal_calls();
  return g_next;
}

// The flags of libc's signal(), and of the System V variant.
constexpr int kBsd = SA_RESTART;
constexpr int kSystemV = static_cast<int>(SA_RESETHAND | SA_NODEFER);

}  // namespace

void sonde::cpu::find_signal_calls() {
  find(g_next.sigaction, "sigaction");
  find(g_next.__sigaction, "__sigaction");
  find(g_next.signal, "signal");
  find(g_next.bsd_signal, "bsd_signal");
  find(g_next.ssignal, "ssignal");
  find(g_next.sysv_signal, "sysv_signal");
  find(g_next.__sysv_signal, "__sysv_signal");
  find(g_next.sigaltstack, "sigaltstack");
  find(g_next.signalfd, "signalfd");
  find(g_next.sigtimedwait, "sigtimedwait");
  g_next.found = true;
}

SONDE_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  return change_action(number, action, before, next().sigaction);
}

SONDE_EXPORT int __sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  return change_action(number, action, before, next().__sigaction);
}

#define SONDE_SIGNAL(name, flags)                                    \
  SONDE_EXPORT void (*name(int number, void (*handler)(int)))(int) { \
    return change_handler(number, handler, flags, next().name);      \
  }

SONDE_SIGNAL(signal, kBsd)
SONDE_SIGNAL(bsd_signal, kBsd)
SONDE_SIGNAL(ssignal, kBsd)
SONDE_SIGNAL(sysv_signal, kSystemV)
SONDE_SIGNAL(__sysv_signal, kSystemV)

SONDE_EXPORT int sigaltstack(const stack_t* wanted, stack_t* before) {
  return alternate_stack(wanted, before, next().sigaltstack);
}

SONDE_EXPORT int signalfd(int fd, const sigset_t* set, int flags) {
  return open_signal_fd(fd, set, flags, next().signalfd);
}

SONDE_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info,
                              const struct timespec* timeout) {
  return wait_for_signal(set, info, timeout, next().sigtimedwait);
}

SONDE_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return wait_for_signal(set, info, nullptr, next().sigtimedwait);
}

SONDE_EXPORT int sigwait(const sigset_t* set, int* number) {
  const int before = errno;
  int got = 0;
  do {
    got = wait_for_signal(set, nullptr, nullptr, next().sigtimedwait);
  } while (got < 0 && errno == EINTR);
  const int failure = errno;
  errno = before;
  if (got < 0) return failure;
  *number = got;
  return 0;
}
