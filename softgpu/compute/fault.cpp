#include "compute/fault.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <mutex>
#include <new>

#include "base/pinned.h"
#include "compute/fiber.h"

namespace softgpu {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kSignalCount = sizeof(kSignals) / sizeof(kSignals[0]);
constexpr size_t kStackBytes = 64 * 1024;

// Read in a signal handler: must not need an allocation.
thread_local FaultSlot* current __attribute__((tls_model("initial-exec"))) = nullptr;
// What sigaction() is asked now is asked by us, of the kernel.
thread_local bool asks_kernel __attribute__((tls_model("initial-exec"))) = false;

// The fault that this thread passed on last, and the stack below which that handler runs.
struct Passed {
  const siginfo_t* info;
  uintptr_t stack;
};
thread_local Passed passed __attribute__((tls_model("initial-exec"))) = {};

struct Previous {
  std::mutex mutex;
  pid_t process = 0;
  struct sigaction action[kSignalCount] = {};
  bool is_replaced[kSignalCount] = {};
};

// A handler may call sigaction(), too: it must not find the lock taken by its own thread.
class Lock : sonde::Pinned {
 public:
  explicit Lock(std::mutex& mutex) : mutex_(mutex) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
    mutex_.lock();
  }
  ~Lock() {
    mutex_.unlock();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  std::mutex& mutex_;
  sigset_t before_;
};

Previous& previous() {
  static constinit Previous instance;
  return instance;
}

size_t index_of(int signal) {
  size_t index = 0;
  while (index < kSignalCount - 1 && kSignals[index] != signal) index++;
  return index;
}

// The child of another kind of fork than fork() may have the lock as another thread held it.
bool is_this_process() { return getpid() == previous().process; }

// The program's action, which a handler that is to run once is no longer then.
struct sigaction take_action(int signal) {
  struct sigaction& action = previous().action[index_of(signal)];
  const struct sigaction taken = action;
  if ((taken.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) action.sa_handler = SIG_DFL;
  return taken;
}

struct sigaction next_action(int signal) {
  if (!is_this_process()) return take_action(signal);
  const Lock lock(previous().mutex);
  return take_action(signal);
}

// Blocks what is blocked while the program's handler runs; returning from ours restores the mask.
void block_for(const struct sigaction& action, int signal) {
  sigset_t mask = action.sa_mask;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
}

// Does what would have happened without us. Returning to the instruction raises the signal again,
// now with the default action.
void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction old = next_action(signal);
  const bool has_handler = old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN;
  // A handler that passes on to us would recurse forever. One may also be left by siglongjmp(), so
  // that the next fault may have the same place.
  const auto stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const bool is_nested = info == passed.info && stack < passed.stack;
  if (!has_handler || is_nested) {
    asks_kernel = true;
    ::signal(signal, old.sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL);
    asks_kernel = false;
    if (info->si_code <= 0) raise(signal);  // sent by a process: nothing would raise it again
    return;
  }
  passed = {info, stack};
  block_for(old, signal);
  if ((old.sa_flags & SA_SIGINFO) != 0)
    old.sa_sigaction(signal, info, context);
  else
    old.sa_handler(signal);
  passed = {};
}

void on_fault(int signal, siginfo_t* info, void* context) {
  FaultSlot* slot = current;
  if (!slot || info->si_code <= 0) {
    pass_on(signal, info, context);
    return;
  }
  bool is_memory = signal == SIGSEGV || signal == SIGBUS;
  slot->outcome.kind = is_memory ? Outcome::kMemoryFault : Outcome::kTrap;
  slot->outcome.address = is_memory ? reinterpret_cast<uint64_t>(info->si_addr) : 0;
  auto* state = static_cast<ucontext_t*>(context);
  state->uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(slot->resume);
  state->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(&softgpu_fiber_resume);
}

}  // namespace

FaultStack::FaultStack() {
  void* memory =
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  stack_t now{};
  if (sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE)) {
    munmap(memory, kStackBytes);  // the thread has another one
    return;
  }
  memory_ = memory;
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kStackBytes;
  sigaltstack(&stack, nullptr);
}

FaultStack::~FaultStack() {
  if (!memory_) return;
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  munmap(memory_, kStackBytes);
}

void catch_faults_in(FaultSlot* slot) { current = slot; }

void install_fault_handlers() {
  Previous& old = previous();
  const Lock lock(old.mutex);
  old.process = getpid();
  asks_kernel = true;
  for (size_t i = 0; i < kSignalCount; i++) {
    struct sigaction now {};
    struct sigaction ours {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    if (sigaction(kSignals[i], &ours, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != on_fault) old.action[i] = now;
    old.is_replaced[i] = true;
  }
  asks_kernel = false;
}

bool keep_action(int signal, const struct sigaction* action, struct sigaction* before) {
  const size_t i = index_of(signal);
  if (kSignals[i] != signal || asks_kernel) return false;
  if (!is_this_process()) return false;  // the memory may be the parent's
  Previous& old = previous();
  const Lock lock(old.mutex);
  if (!old.is_replaced[i]) return false;
  const struct sigaction was = old.action[i];
  if (action != nullptr) old.action[i] = *action;
  if (before != nullptr) *before = was;
  return true;
}

void show_own_action(int signal, struct sigaction& before) {
  const bool is_ours = (before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction == on_fault;
  if (is_ours && !asks_kernel) before = previous().action[index_of(signal)];
}

void leave_faults_to_parent() { new (&previous().mutex) std::mutex; }

}  // namespace softgpu
