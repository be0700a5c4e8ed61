// Driver: the kernel side of the software GPU in one process: memory, events and queues behind the
// device files. Created when the first device file is opened and never destroyed: other threads use
// it until the very end of the process, and would hang on a destroyed mutex.
//
// A child of fork() starts without a driver and may open the devices again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "device/device.h"
#include "driver/debug_state.h"
#include "driver/environment.h"
#include "driver/events.h"
#include "driver/gem.h"
#include "driver/memory.h"
#include "driver/pc_sampling.h"
#include "driver/quarantine.h"
#include "driver/smi.h"
#include "driver/svm.h"

struct kfd_ioctl_create_queue_args;

namespace softgpu {

class Driver final : public Host {
 public:
  // Null if the memory file cannot be created; errno says why.
  static Driver* get_or_make();
  static Driver* get();  // null if no device file has been opened
  static void forget();  // in the child of fork()

  const Config& config() const { return config_; }
  Session& session() { return session_; }
  Memory& memory() { return memory_; }
  Gem& gem() { return gem_; }
  Svm& svm() { return svm_; }
  Smi& smi() { return smi_; }
  // nullptr unless memory is checked.
  Quarantine* quarantine() { return quarantine_.get(); }
  Events& events() { return events_; }
  int memory_file() const { return file_; }

  // Returns 0 or an errno.
  int set_xnack(bool on);
  int enable_runtime(uint64_t r_debug, uint32_t mode);
  int create_queue(kfd_ioctl_create_queue_args& request);
  int destroy_queue(uint32_t id);
  int map_memory(uint64_t handle, uint32_t gpu);
  int unmap_memory(uint64_t handle, uint32_t gpu) { return memory_.unmap(handle, gpu); }

  bool is_mapped(uint32_t gpu, uint64_t address, uint64_t bytes) override {
    return memory_.is_mapped(gpu, address, bytes) || svm_.is_mapped(gpu, address, bytes);
  }
  uint64_t own_address(uint64_t address) override { return memory_.own_address(address); }
  bool is_suspended(uint32_t queue) override {
    const DebugState* debug = debug_.load(std::memory_order_acquire);
    return debug != nullptr && debug->is_suspended(queue);
  }
  bool is_debuggable() override { return debug_.load(std::memory_order_acquire) != nullptr; }
  bool halts_new_waves() override {
    const DebugState* debug = debug_.load(std::memory_order_acquire);
    return debug != nullptr && (*debug)->launch_mode == kfd::kLaunchHalted;
  }
  bool queue_exception(uint32_t queue, uint64_t exceptions) override;
  void set_event(uint32_t event) override { events_.set(event); }
  TrapHandler trap_handler(uint32_t gpu) override;
  isa::HostTraps* host_traps(uint32_t gpu) override { return &pc_sampling(gpu).traps(); }
  PcSampling& pc_sampling(uint32_t gpu) { return *pc_sampling_.at(gpu); }
  const isa::Allocations* allocations() override;
  // False for a GPU that does not exist.
  bool set_trap_handler(uint32_t gpu, const TrapHandler& handler);
  void memory_fault(uint32_t gpu, uint64_t address, MemoryFault reason) override;
  void hardware_fault(uint32_t gpu) override;

 private:
  // Where the driver itself has mapped each GPU's doorbells.
  using Doorbells = std::array<std::atomic<uint64_t>*, kMaxGpus>;

  Driver(Environment& environment, int file, const Doorbells& doorbells);
  isa::Mapping mapping_at(uint64_t address) const;
  void show_process();
  void show_queue(uint32_t id, const kfd_ioctl_create_queue_args& request);
  void report_load();
  void tell_runtime(uint32_t queue, uint64_t exceptions);
  void tell_of_migration(const Svm::Migration& migration);

  const Config& config_;
  Session& session_;
  const int file_;
  const Doorbells doorbells_;
  const std::unique_ptr<Quarantine> quarantine_;
  Memory memory_;
  Gem gem_{memory_};
  Svm svm_{config_};
  Smi smi_{config_.tree};
  Events events_;

  std::mutex traps_mutex_;
  std::array<TrapHandler, kMaxGpus> trap_handlers_{};
  std::array<std::unique_ptr<PcSampling>, kMaxGpus> pc_sampling_;

  std::atomic<DebugState*> debug_{nullptr};  // set at the runtime's first call, then kept
  std::mutex queues_mutex_;
  std::map<uint32_t, uint32_t> queues_;  // id -> GPU
  std::unique_ptr<Device> device_;
};

// Removes this process from the tree; called at a regular end.
void hide_process();

}  // namespace softgpu
