#include "compute/executor.h"

#include <pthread.h>
#include <signal.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "base/pinned.h"
#include "compute/code_object.h"
#include "compute/group.h"
#include "compute/registry.h"

namespace softgpu {

namespace {

// A running dispatch: threads take groups from it until none are left.
struct Job {
  const SoftgpuKernel* kernel = nullptr;
  SoftgpuGroup group{};
  GroupCode* code = nullptr;  // used instead of a kernel
  Grid grid;
  uint64_t step = 1;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> stopped{false};
  int helpers = 0;  // threads working on it besides the caller; protected by the pool's mutex
  std::mutex mutex;
  Outcome outcome;

  Outcome run_some(GroupRunner& runner, uint64_t first, uint64_t end) const {
    if (code != nullptr) return code->run(grid, first, end);
    SoftgpuGroup own = group;
    Outcome result;
    for (uint64_t i = first; i < end && result.kind == Outcome::kDone; i++) {
      grid.place(i, own.id, own.size);
      result = runner.run(*kernel, own);
    }
    return result;
  }

  void work(GroupRunner& runner) {
    while (!stopped.load(std::memory_order_relaxed)) {
      const uint64_t first = next.fetch_add(step);
      const bool all_have_begun = first >= grid.total;
      if (all_have_begun && code == nullptr) return;
      Outcome result = all_have_begun ? code->run_waiting(stopped)
                                      : run_some(runner, first, std::min(first + step, grid.total));
      if (result.kind == Outcome::kDone && all_have_begun) return;
      if (result.kind == Outcome::kDone) continue;
      std::lock_guard lock(mutex);
      if (!stopped.exchange(true)) outcome = std::move(result);
      return;
    }
  }
};

// Runs kernel code with the default floating-point environment, and keeps the program's signal
// handlers off its small stacks. Restores the previous state at the end.
class QuietThread : sonde::Pinned {
 public:
  QuietThread() : control_(_mm_getcsr()) {
    _mm_setcsr(0x1f80);
    sigset_t all;
    sigfillset(&all);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, signal);
    pthread_sigmask(SIG_BLOCK, &all, &mask_);
  }
  ~QuietThread() {
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    _mm_setcsr(control_);
  }

 private:
  unsigned control_;
  sigset_t mask_;
};

void* find_variable(const SoftgpuVariable& variable, uint64_t kernel_object) {
  uint64_t loaded = kernel_object ? loaded_symbol(kernel_object, variable.name) : 0;
  return loaded ? reinterpret_cast<void*>(loaded) : variable.copy;
}

}  // namespace

struct Executor::Impl {
  explicit Impl(int wanted)
      : threads(wanted > 0 ? wanted
                           : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {}

  ~Impl() {
    {
      std::lock_guard lock(mutex);
      ending = true;
    }
    wake.notify_all();
    for (std::thread& thread : pool) thread.join();
  }

  std::unique_ptr<GroupRunner> take_runner() {
    std::lock_guard lock(mutex);
    if (runners.empty()) return std::make_unique<GroupRunner>();
    std::unique_ptr<GroupRunner> runner = std::move(runners.back());
    runners.pop_back();
    return runner;
  }

  void help() {
    QuietThread quiet;
    FaultStack fault_stack;
    GroupRunner runner;
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return ending || !jobs.empty(); });
      if (ending) return;
      Job* job = jobs.front();
      if (job->next.load() >= job->grid.total) {
        jobs.pop_front();
        continue;
      }
      job->helpers++;
      lock.unlock();
      job->work(runner);
      lock.lock();
      if (--job->helpers == 0) left.notify_all();
    }
  }

  void run(Job& job) {
    install_fault_handlers();
    // Several pieces per thread, so that threads end together, but not too small ones.
    job.step = std::max<uint64_t>(1, job.grid.total / (static_cast<uint64_t>(threads) * 16));
    bool shares = threads > 1 && job.grid.total > job.step;
    if (shares) {
      std::lock_guard lock(mutex);
      while (pool.size() + 1 < static_cast<size_t>(threads)) pool.emplace_back([this] { help(); });
      jobs.push_back(&job);
    }
    if (shares) wake.notify_all();
    std::unique_ptr<GroupRunner> runner = take_runner();
    {
      QuietThread quiet;
      static thread_local FaultStack fault_stack;
      job.work(*runner);
    }
    std::unique_lock lock(mutex);
    runners.push_back(std::move(runner));
    jobs.remove(&job);
    left.wait(lock, [&job] { return job.helpers == 0; });
  }

  const int threads;
  std::mutex mutex;
  std::condition_variable wake, left;
  std::list<Job*> jobs;
  std::vector<std::thread> pool;
  std::vector<std::unique_ptr<GroupRunner>> runners;  // for threads that call run()
  bool ending = false;
};

Executor::Executor(int threads) : impl_(std::make_unique<Impl>(threads)) {}
Executor::~Executor() = default;

bool Executor::knows(std::string_view kernel) const {
  return find_kernel(kernel).kernel != nullptr;
}

bool Executor::watches_memory(std::string_view kernel) const {
  const SoftgpuKernel* found = find_kernel(kernel).kernel;
  return found != nullptr && found->watches_memory != 0;
}

Outcome Executor::run(GroupCode& code, const Dispatch& dispatch) {
  Job job;
  job.code = &code;
  job.grid = Grid(dispatch);
  impl_->run(job);
  return job.outcome;
}

Outcome Executor::run(std::string_view kernel, const Dispatch& dispatch) {
  RegisteredKernel found = find_kernel(kernel);
  if (!found.kernel) return {Outcome::kNoCode, 0, {}};

  Job job;
  job.kernel = found.kernel;
  job.grid = Grid(dispatch);

  AqlDispatch packet{};
  if (dispatch.packet) {
    packet = *dispatch.packet;
  } else {
    packet.setup = 3;
    for (int d = 0; d < 3; d++) {
      packet.group[d] = static_cast<uint16_t>(job.grid.size[d]);
      packet.grid[d] = job.grid.items[d];
    }
    packet.group_bytes = found.kernel->lds_bytes + dispatch.dynamic_group_bytes;
    packet.kernarg = reinterpret_cast<uint64_t>(dispatch.kernarg);
  }
  std::vector<void*> variables;
  for (uint32_t i = 0; i < found.module->variable_count; i++)
    variables.push_back(find_variable(found.module->variables[i], packet.kernel_object));

  uint32_t static_bytes = (found.kernel->lds_bytes + 15) & ~15u;
  job.group.kernarg = dispatch.kernarg;
  job.group.implicit_args =
      static_cast<const char*>(dispatch.kernarg) + found.kernel->implicit_offset;
  job.group.packet = &packet;
  job.group.variables = variables.data();
  job.group.static_bytes = static_bytes;
  job.group.lds_bytes = static_bytes + dispatch.dynamic_group_bytes;
  job.group.wave_size = found.kernel->wave_size;
  impl_->run(job);
  return job.outcome;
}

}  // namespace softgpu
