#include "compute/fault.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstddef>
#include <mutex>

#include "base/pinned.h"
#include "compute/fiber.h"

namespace softgpu {

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr size_t kSignalCount = sizeof(kSignals) / sizeof(kSignals[0]);
constexpr size_t kStackBytes = 64 * 1024;

// Read in a signal handler: must not need an allocation.
thread_local FaultSlot* current __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local bool passing_on __attribute__((tls_model("initial-exec"))) = false;
// What sigaction() is asked now is asked by us, of the kernel.
thread_local bool asks_kernel __attribute__((tls_model("initial-exec"))) = false;

struct Previous {
  std::mutex mutex;
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

// Does what would have happened without us. Returning to the instruction raises the signal again,
// now with the default action.
void pass_on(int signal, siginfo_t* info, void* context) {
  struct sigaction old;
  {
    const Lock lock(previous().mutex);
    old = previous().action[index_of(signal)];
  }
  bool has_handler = old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN;
  if (!has_handler || passing_on) {
    asks_kernel = true;
    ::signal(signal, old.sa_handler == SIG_IGN ? SIG_IGN : SIG_DFL);
    asks_kernel = false;
    if (info->si_code <= 0) raise(signal);  // sent by a process: nothing would raise it again
    return;
  }
  passing_on = true;  // a handler that passes on to us would recurse forever
  if (old.sa_flags & SA_SIGINFO)
    old.sa_sigaction(signal, info, context);
  else
    old.sa_handler(signal);
  passing_on = false;
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
  Previous& old = previous();
  const Lock lock(old.mutex);
  if (!old.is_replaced[i]) return false;
  const struct sigaction was = old.action[i];
  if (action != nullptr) old.action[i] = *action;
  if (before != nullptr) *before = was;
  return true;
}

}  // namespace softgpu
