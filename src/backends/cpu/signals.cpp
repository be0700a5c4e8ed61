#include "backends/cpu/signals.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/platform.h"
#include "backends/cpu/arming.h"
#include "backends/cpu/kernel_signals.h"

namespace sonde::cpu {

namespace {

constexpr int kFirstRealTime = 34;  // libc reserves the signals below

const struct sonde_agent* g_agent = nullptr;
Handler g_handler = nullptr;
uint32_t g_hz = 0;
pid_t g_pid = 0;
int g_signal = 0;
int g_next_signal = 0;
struct sigaction g_told = {};  // the action that the program believes this signal has
uint64_t g_wanted = 0;         // signals that the program has ever set an action for

// For each signal, the signal that we added to its handler's mask although the program did not ask
// for it; 0: none.
int g_masked[kSignals + 1];

bool contains(const sigset_t* set, int number) {
  return set != nullptr && number != 0 && sigismember(set, number) == 1;
}

// Handlers on an alternate stack must not be interrupted by our signal: the stack may have room for
// only one frame.
int mask_for(unsigned long flags, uint64_t mask) {
  const bool needed = (flags & SA_ONSTACK) != 0 && (mask & bit_of(sampling_signal())) == 0;
  return needed ? sampling_signal() : 0;
}

bool is_handler(const KernelAction& action) { return !is_default(action) && !is_ignored(action); }

void mask_again(int number) {
  KernelAction action;
  if (number == sampling_signal() || !get_action(number, action) || !is_handler(action)) return;
  const uint64_t before = action.mask;
  if (g_masked[number] != 0) action.mask &= ~bit_of(g_masked[number]);
  g_masked[number] = mask_for(action.flags, action.mask);
  if (g_masked[number] != 0) action.mask |= bit_of(g_masked[number]);
  if (action.mask != before) set_action(number, action);
}

// For handlers that exist already.
void mask_all() {
  for (int number = 1; number <= kSignals; ++number) mask_again(number);
}

uint64_t first_word(const sigset_t& set) {
  uint64_t word = 0;
  memcpy(&word, &set, sizeof word);
  return word;
}

int mask_ours(struct sigaction& action) {
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return 0;
  const int masked =
      mask_for(static_cast<unsigned long>(action.sa_flags), first_word(action.sa_mask));
  if (masked != 0) sigaddset(&action.sa_mask, masked);
  return masked;
}

// An unused real-time signal, from the highest downwards; 0: none.
int free_signal(uint64_t besides) {
  const uint64_t used = agent::load(g_wanted) | besides;
  for (int number = kSignals; number >= kFirstRealTime; --number) {
    KernelAction action;
    if ((used & bit_of(number)) == 0 && get_action(number, action) && is_default(action)) {
      return number;
    }
  }
  return 0;
}

void tell(bool was_event) {
  char text[200];
  const bool slower = was_event && g_hz > ticks_per_second();
  snprintf(text, sizeof text,
           "the program uses SIGURG itself; it is sampled by timers and signal %d%s",
           sampling_signal(), slower ? ", no faster than the kernel's clock ticks" : "");
  g_agent->diagnostic(slower ? SONDE_WARNING : SONDE_INFO, "cpu", text);
}

// Gives the signal to the program. False: there is no other one, or the program shares this one
// already.
bool leave(uint64_t besides) {
  const int before = sampling_signal();
  if (g_told.sa_handler != SIG_DFL) return false;
  g_next_signal = free_signal(besides | bit_of(before));
  if (g_next_signal == 0) return false;
  const bool was_event = clocks_are_events();
  change_signal(before, [] {
    const int old = g_signal;
    install(g_next_signal, g_handler, true);
    agent::store(g_signal, g_next_signal);
    set_action(old, KernelAction());
  });
  g_told = {};
  mask_all();
  tell(was_event);
  return true;
}

// Whether the program's action for a signal is only remembered here, not set in the kernel.
bool is_kept_here(int number, bool is_default) {
  if (number < 1 || number > kSignals) return false;
  if (!is_default) __atomic_fetch_or(&g_wanted, bit_of(number), __ATOMIC_RELAXED);
  if (number != sampling_signal()) return false;
  // Some programs set all signals to their current action, before an exec for example.
  if (is_default && g_told.sa_handler == SIG_DFL) return true;
  return !leave(0);
}

// Whether an action for a signal leaves all that is remembered here as it is. Then it does not
// matter which process this is. To ask takes a system call, too much for a program that sets its
// handlers before each of many short calls.
bool is_nothing_new(int number, struct sigaction action) {
  const bool is_known =
      action.sa_handler == SIG_DFL || (agent::load(g_wanted) & bit_of(number)) != 0;
  return is_known && number != sampling_signal() && g_masked[number] == mask_ours(action);
}

void keep_here(const struct sigaction& action) {
  g_told = action;
  const bool restart = action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN ||
                       (action.sa_flags & SA_RESTART) != 0;
  install(sampling_signal(), g_handler, restart);
}

}  // namespace

int sampling_signal() { return is_silent() ? 0 : agent::load(g_signal); }

bool is_this_process() { return getpid() == g_pid; }

void remember_process() { g_pid = getpid(); }

int begin_signals(const struct sonde_agent* agent, uint32_t hz, Handler handler) {
  g_agent = agent;
  g_hz = hz;
  g_handler = handler;
  remember_process();
  KernelAction urgent;
  const bool is_free = get_action(SIGURG, urgent) && is_default(urgent);
  const int number = is_free ? SIGURG : free_signal(0);
  if (number == 0) return 0;
  install(number, handler, true);
  agent::store(g_signal, number);
  mask_all();
  return number;
}

bool signal_is_ours() {
  KernelAction action;
  return get_action(agent::load(g_signal), action) && action.handler == g_handler;
}

void end_signals() {
  const int number = agent::load(g_signal);
  for (int other = 1; other <= kSignals; ++other) {
    KernelAction action;
    if (g_masked[other] == 0 || !get_action(other, action)) continue;
    action.mask &= ~bit_of(g_masked[other]);
    g_masked[other] = 0;
    set_action(other, action);
  }
  if (!signal_is_ours()) return;
  ignore(number);
  set_action(number, KernelAction());
}

void pass_on(int number, siginfo_t* info, void* context) {
  const struct sigaction action = g_told;
  if (action.sa_handler == SIG_IGN) return;
  if (action.sa_handler == SIG_DFL) {
    if (number == SIGURG) return;
    set_action(number, KernelAction());  // terminates the process when this handler returns
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
    return;
  }
  uint64_t mask = first_word(static_cast<const ucontext_t*>(context)->uc_sigmask);
  mask |= first_word(action.sa_mask);
  if ((action.sa_flags & SA_NODEFER) == 0) mask |= bit_of(number);
  if ((action.sa_flags & SA_RESETHAND) != 0) g_told.sa_handler = SIG_DFL;
  set_mask(mask);  // until the handler returns
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(number, info, context);
  } else {
    action.sa_handler(number);
  }
}

int change_action(int number, const struct sigaction* action, struct sigaction* before,
                  Action next) {
  const int ours = sampling_signal();
  if (ours == 0 || number < 1 || number > kSignals) return next(number, action, before);
  const int masked = g_masked[number];
  const struct sigaction told = g_told;
  if (action == nullptr || !(is_nothing_new(number, *action) || is_this_process())) {
    const int result = next(number, action, before);
    if (result != 0 || before == nullptr) return result;
    if (number == ours) *before = told;
    if (number != ours && masked != 0) sigdelset(&before->sa_mask, masked);
    return result;
  }
  struct sigaction given = *action;
  if (is_kept_here(number, given.sa_handler == SIG_DFL)) {
    keep_here(given);
    if (before != nullptr) *before = told;
    return 0;
  }
  const int newly_masked = mask_ours(given);
  const int result = next(number, &given, before);
  if (result != 0) return result;
  if (before != nullptr && masked != 0) sigdelset(&before->sa_mask, masked);
  g_masked[number] = newly_masked;
  return 0;
}

void (*change_handler(int number, void (*handler)(int), int flags, Signal next))(int) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (sampling_signal() == 0 || number < 1 || number > kSignals || is_nothing_new(number, action) ||
      !is_this_process()) {
    return next(number, handler);
  }
  if (!is_kept_here(number, handler == SIG_DFL)) {
    g_masked[number] = 0;
    return next(number, handler);
  }
  if ((flags & SA_NODEFER) == 0) sigaddset(&action.sa_mask, number);
  const auto before = g_told.sa_handler;
  keep_here(action);
  return before;
}

int open_signal_fd(int fd, const sigset_t* set, int flags, SignalFd next) {
  if (!contains(set, sampling_signal()) || !is_this_process() || leave(first_word(*set))) {
    return next(fd, set, flags);
  }
  sigset_t others = *set;
  sigdelset(&others, sampling_signal());
  return next(fd, &others, flags);
}

void settle_before_wait(const sigset_t* mask) {
  const int number = sampling_signal();
  const bool is_wanted = g_told.sa_handler != SIG_DFL && g_told.sa_handler != SIG_IGN;
  if (mask == nullptr || number <= 0 || is_wanted || contains(mask, number)) return;
  const ErrnoKeeper keep;
  const uint64_t before = unblock(bit_of(number));  // a pending one arrives here
  if ((before & bit_of(number)) != 0) set_mask(before);
}

int wait_for_signal(const sigset_t* set, siginfo_t* info, const struct timespec* timeout,
                    TimedWait next) {
  if (!contains(set, sampling_signal())) return next(set, info, timeout);
  const int64_t end_ns =
      timeout == nullptr
          ? 0
          : clock_ns(CLOCK_MONOTONIC) + timeout->tv_sec * int64_t{1000000000} + timeout->tv_nsec;
  for (timespec left = timeout != nullptr ? *timeout : timespec();;) {
    siginfo_t got;
    const int number = next(set, &got, timeout != nullptr ? &left : nullptr);
    if (number > 0 && number == sampling_signal() && is_of_a_clock(got)) {
      miss();
      if (timeout == nullptr) continue;
      int64_t left_ns = end_ns - clock_ns(CLOCK_MONOTONIC);
      if (left_ns < 0) left_ns = 0;
      left = {static_cast<time_t>(left_ns / 1000000000), static_cast<long>(left_ns % 1000000000)};
      continue;
    }
    if (number > 0 && info != nullptr) *info = got;
    return number;
  }
}

}  // namespace sonde::cpu
