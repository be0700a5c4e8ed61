#include "isa/kernel.h"

#include <sched.h>

namespace softgpu::isa {
namespace {

// As many groups of a dispatch as a large GPU has waves at a time: a kernel that waits for more
// groups than these would wait forever there, too.
constexpr size_t kMostWaiting = 4096;

}  // namespace

std::shared_ptr<Program> Engine::program(sonde::gpu::Architecture architecture, uint64_t begin,
                                         uint64_t bytes) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Program>& found = programs_[begin];
  if (!found || found->bytes() != (bytes & ~uint64_t{3}) || !found->is_current()) {
    found = std::make_shared<Program>(architecture, begin, bytes, coverage_.get());
  }
  return found;
}

std::unique_ptr<GroupRunner> Engine::take_runner() {
  std::lock_guard lock(mutex_);
  if (runners_.empty()) return std::make_unique<GroupRunner>();
  std::unique_ptr<GroupRunner> runner = std::move(runners_.back());
  runners_.pop_back();
  return runner;
}

void Engine::give_back(std::unique_ptr<GroupRunner> runner) {
  std::lock_guard lock(mutex_);
  runners_.push_back(std::move(runner));
}

MachineKernel::~MachineKernel() {
  for (auto& runner : waiting_) {
    runner->leave();
    engine_.give_back(std::move(runner));
  }
}

Outcome MachineKernel::run(const Grid& grid, uint64_t first, uint64_t end) {
  Outcome outcome;
  for (uint64_t i = first; i < end && outcome.kind == Outcome::kDone; ++i) {
    uint32_t id[3], size[3];
    grid.place(i, id, size);
    std::unique_ptr<GroupRunner> runner = engine_.take_runner();
    if (!runner->begin(launch_, id, size, i)) return {Outcome::kTrap, 0, "no memory for its waves"};
    outcome = go_on(std::move(runner));
    while (outcome.kind == Outcome::kDone && (runner = take_waiting(kMostWaiting)) != nullptr)
      outcome = go_on(std::move(runner));
  }
  return outcome;
}

Outcome MachineKernel::run_waiting(const std::atomic<bool>& stopped) {
  Outcome outcome;
  while (outcome.kind == Outcome::kDone && !stopped.load(std::memory_order_relaxed)) {
    std::unique_ptr<GroupRunner> runner = take_waiting(0);
    if (runner == nullptr) break;
    outcome = go_on(std::move(runner));
  }
  return outcome;
}

// nullptr unless more than `but` groups wait.
std::unique_ptr<GroupRunner> MachineKernel::take_waiting(size_t but) {
  std::lock_guard lock(mutex_);
  if (waiting_.size() <= but) return nullptr;
  std::unique_ptr<GroupRunner> runner = std::move(waiting_.front());
  waiting_.pop_front();
  return runner;
}

Outcome MachineKernel::go_on(std::unique_ptr<GroupRunner> runner) {
  const uint64_t before = runner->executed();
  Outcome outcome = runner->resume();
  if (runner->is_waiting()) {
    {
      std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(runner));
    }
    sched_yield();  // it may wait for a group on another thread
    return outcome;
  }
  executed_ += runner->executed() - before;
  engine_.give_back(std::move(runner));
  return outcome;
}

}  // namespace softgpu::isa
