// MachineKernel: a dispatch that the executor runs from machine code. Engine: the loaded programs,
// decoded as far as they have run. One engine per device; thread-safe.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "compute/executor.h"
#include "isa/coverage.h"
#include "isa/group.h"

namespace softgpu::isa {

class Engine {
 public:
  // `coverage` may be nullptr.
  explicit Engine(std::unique_ptr<Coverage> coverage = nullptr) : coverage_(std::move(coverage)) {}
  // The current code at this place.
  std::shared_ptr<Program> program(sonde::gpu::Architecture architecture, uint64_t begin,
                                   uint64_t bytes);
  // For one thread, until it is given back.
  std::unique_ptr<GroupRunner> take_runner();
  void give_back(std::unique_ptr<GroupRunner> runner);
  GlobalSync& sync() { return sync_; }

 private:
  const std::unique_ptr<Coverage> coverage_;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<Program>> programs_;  // by begin address
  std::vector<std::unique_ptr<GroupRunner>> runners_;
  GlobalSync sync_;
};

class MachineKernel : public GroupCode {
 public:
  MachineKernel(Engine& engine, std::shared_ptr<Program> program, const Launch& launch)
      : engine_(engine), program_(std::move(program)), launch_(launch) {
    launch_.program = program_.get();
    launch_.sync = &engine_.sync();
  }
  ~MachineKernel() override;
  Outcome run(const Grid& grid, uint64_t first, uint64_t end) override;
  Outcome run_waiting(const std::atomic<bool>& stopped) override;
  uint64_t executed() const { return executed_; }

 private:
  Outcome go_on(std::unique_ptr<GroupRunner> runner);
  std::unique_ptr<GroupRunner> take_waiting(size_t but);

  Engine& engine_;
  const std::shared_ptr<Program> program_;
  Launch launch_;
  std::atomic<uint64_t> executed_{0};
  std::mutex mutex_;
  // Groups that have begun; protected by the mutex.
  std::deque<std::unique_ptr<GroupRunner>> waiting_;
};

}  // namespace softgpu::isa
