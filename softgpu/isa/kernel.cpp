#include "isa/kernel.h"

namespace softgpu::isa {

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

Outcome MachineKernel::run(const Grid& grid, uint64_t first, uint64_t end) {
  std::unique_ptr<GroupRunner> runner = engine_.take_runner();
  const uint64_t before = runner->executed();
  Outcome outcome;
  for (uint64_t i = first; i < end && outcome.kind == Outcome::kDone; ++i) {
    uint32_t id[3], size[3];
    grid.place(i, id, size);
    outcome = runner->run(launch_, id, size, i);
  }
  executed_ += runner->executed() - before;
  engine_.give_back(std::move(runner));
  return outcome;
}

}  // namespace softgpu::isa
