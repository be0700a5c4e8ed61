// libc's signal functions, interposed because the backend is preloaded: they behave as if nothing
// were sampled (signals.h, alternate_stack.h).
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "backends/cpu/alternate_stack.h"
#include "backends/cpu/signals.h"
#include "base/next_function.h"

#define SONDE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace sonde::cpu;
using sonde::NextFunction;

namespace {

struct Next {
  NextFunction<Action> sigaction{"sigaction"}, __sigaction{"__sigaction"};
  NextFunction<Signal> signal{"signal"}, bsd_signal{"bsd_signal"}, ssignal{"ssignal"};
  NextFunction<Signal> sysv_signal{"sysv_signal"}, __sysv_signal{"__sysv_signal"};
  NextFunction<AlternateStack> sigaltstack{"sigaltstack"};
  NextFunction<SignalFd> signalfd{"signalfd"};
  NextFunction<TimedWait> sigtimedwait{"sigtimedwait"};
  NextFunction<int (*)(const sigset_t*)> sigsuspend{"sigsuspend"};
  NextFunction<int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*)> ppoll{"ppoll"};
  NextFunction<int (*)(pollfd*, nfds_t, const timespec*, const sigset_t*, size_t)> __ppoll_chk{
      "__ppoll_chk"};
  NextFunction<int (*)(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)> pselect{
      "pselect"};
  NextFunction<int (*)(int, epoll_event*, int, int, const sigset_t*)> epoll_pwait{"epoll_pwait"};
  NextFunction<int (*)(int, epoll_event*, int, const timespec*, const sigset_t*)> epoll_pwait2{
      "epoll_pwait2"};
};
constinit Next g_next;

// The flags of libc's signal(), and of the System V variant.
constexpr int kBsd = SA_RESTART;
constexpr int kSystemV = static_cast<int>(SA_RESETHAND | SA_NODEFER);

}  // namespace

void sonde::cpu::find_signal_calls() {
  find_all(g_next.sigaction, g_next.__sigaction, g_next.signal, g_next.bsd_signal, g_next.ssignal,
           g_next.sysv_signal, g_next.__sysv_signal, g_next.sigaltstack, g_next.signalfd,
           g_next.sigtimedwait, g_next.sigsuspend, g_next.ppoll, g_next.__ppoll_chk, g_next.pselect,
           g_next.epoll_pwait, g_next.epoll_pwait2);
}

SONDE_EXPORT int sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  return change_action(number, action, before, g_next.sigaction.get());
}

SONDE_EXPORT int __sigaction(int number, const struct sigaction* action, struct sigaction* before) {
  return change_action(number, action, before, g_next.__sigaction.get());
}

#define SONDE_SIGNAL(name, flags)                                     \
  SONDE_EXPORT void (*name(int number, void (*handler)(int)))(int) {  \
    return change_handler(number, handler, flags, g_next.name.get()); \
  }

SONDE_SIGNAL(signal, kBsd)
SONDE_SIGNAL(bsd_signal, kBsd)
SONDE_SIGNAL(ssignal, kBsd)
SONDE_SIGNAL(sysv_signal, kSystemV)
SONDE_SIGNAL(__sysv_signal, kSystemV)

// The System V calls, which libc's own make by a sigaction() that nobody stands before.

SONDE_EXPORT void (*sigset(int number, void (*handler)(int)))(int) {
  struct sigaction action = {}, before = {};
  action.sa_handler = handler;
  const bool holds = handler == SIG_HOLD;
  if (sigaction(number, holds ? nullptr : &action, &before) != 0) return SIG_ERR;
  sigset_t one, was;
  sigemptyset(&one);
  sigaddset(&one, number);
  if (pthread_sigmask(holds ? SIG_BLOCK : SIG_UNBLOCK, &one, &was) != 0) return SIG_ERR;
  return sigismember(&was, number) == 1 ? SIG_HOLD : before.sa_handler;
}

SONDE_EXPORT int sigignore(int number) {
  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  return sigaction(number, &action, nullptr);
}

// What the header calls sigpause().
SONDE_EXPORT int __xpg_sigpause(int number) {
  sigset_t mask;
  if (pthread_sigmask(SIG_BLOCK, nullptr, &mask) != 0 || sigdelset(&mask, number) != 0) return -1;
  return sigsuspend(&mask);
}

SONDE_EXPORT int sigaltstack(const stack_t* wanted, stack_t* before) {
  return alternate_stack(wanted, before, g_next.sigaltstack.get());
}

SONDE_EXPORT int signalfd(int fd, const sigset_t* set, int flags) {
  return open_signal_fd(fd, set, flags, g_next.signalfd.get());
}

SONDE_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info,
                              const struct timespec* timeout) {
  return wait_for_signal(set, info, timeout, g_next.sigtimedwait.get());
}

SONDE_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  return wait_for_signal(set, info, nullptr, g_next.sigtimedwait.get());
}

SONDE_EXPORT int sigwait(const sigset_t* set, int* number) {
  const int before = errno;
  int got = 0;
  do {
    got = wait_for_signal(set, nullptr, nullptr, g_next.sigtimedwait.get());
  } while (got < 0 && errno == EINTR);
  const int failure = errno;
  errno = before;
  if (got < 0) return failure;
  *number = got;
  return 0;
}

// The calls that change the mask while they wait.

SONDE_EXPORT int sigsuspend(const sigset_t* mask) {
  settle_before_wait(mask);
  return g_next.sigsuspend.get()(mask);
}

SONDE_EXPORT int ppoll(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask) {
  settle_before_wait(mask);
  return g_next.ppoll.get()(fds, count, timeout, mask);
}

SONDE_EXPORT int __ppoll_chk(pollfd* fds, nfds_t count, const timespec* timeout,
                             const sigset_t* mask, size_t bytes) {
  settle_before_wait(mask);
  return g_next.__ppoll_chk.get()(fds, count, timeout, mask, bytes);
}

SONDE_EXPORT int pselect(int count, fd_set* read, fd_set* write, fd_set* failed,
                         const timespec* timeout, const sigset_t* mask) {
  settle_before_wait(mask);
  return g_next.pselect.get()(count, read, write, failed, timeout, mask);
}

SONDE_EXPORT int epoll_pwait(int fd, epoll_event* events, int most, int timeout,
                             const sigset_t* mask) {
  settle_before_wait(mask);
  return g_next.epoll_pwait.get()(fd, events, most, timeout, mask);
}

SONDE_EXPORT int epoll_pwait2(int fd, epoll_event* events, int most, const timespec* timeout,
                              const sigset_t* mask) {
  const auto next = g_next.epoll_pwait2.get();
  if (next == nullptr) {  // a libc before 2.35, of a program that looks whether it has this
    errno = ENOSYS;
    return -1;
  }
  settle_before_wait(mask);
  return next(fd, events, most, timeout, mask);
}
