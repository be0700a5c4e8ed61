// DebugState: what a debugger and the process that it looks at share: a file in the tree, mapped by
// both. The process keeps its queues and its runtime's state in it, the debugger what it asked for.
//
// Each writes only while the other is not harmed by it: single atomic words, and a queue's place
// before the word that says it is there.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/config.h"
#include "driver/kfd_abi.h"

struct kfd_ioctl_create_queue_args;

namespace softgpu {

struct DebuggedQueue {
  std::atomic<uint32_t> exists, suspended;
  std::atomic<uint64_t> exceptions;
  uint64_t ring, write_pointer, read_pointer, save_area;
  uint32_t gpu_id, ring_bytes, type, save_area_bytes, control_stack_bytes, pad;
};

struct DebugLayout {
  static constexpr uint32_t kQueues = 1024;
  static constexpr uint32_t kGpus = 8;

  std::atomic<int32_t> debugger;   // its process; 0: none
  std::atomic<int32_t> notifier;   // its descriptor that hears of exceptions
  std::atomic<uint64_t> reported;  // exceptions of which it wants to hear
  std::atomic<uint32_t> runtime_state, saves_ttmps;
  std::atomic<uint64_t> r_debug;
  std::atomic<uint64_t> exceptions;  // of the process
  std::atomic<uint64_t> gpu_exceptions[kGpus];
  std::atomic<uint32_t> watches[kGpus];     // taken: one bit each
  std::atomic<uint32_t> runtime_may_go_on;  // counts; the runtime waits for the next
  std::atomic<uint32_t> launch_mode, trap_mask, flags;
  DebuggedQueue queues[kQueues];
};

class DebugState {
 public:
  // Of this process, made anew unless its debugger has it already.
  static std::unique_ptr<DebugState> own(const std::string& tree);
  // Of another process; `make` it if it has not opened a device yet.
  static std::unique_ptr<DebugState> of(const std::string& tree, pid_t pid, bool make);
  ~DebugState();
  DebugState(const DebugState&) = delete;
  DebugState& operator=(const DebugState&) = delete;

  DebugLayout* operator->() const { return shared_; }
  bool is_debugged() const { return shared_->debugger.load() != 0; }

  // For the process itself:
  void add_queue(uint32_t id, const kfd_ioctl_create_queue_args& request);
  void remove_queue(uint32_t id) { shared_->queues[id].exists = 0; }
  bool is_suspended(uint32_t id) const {
    return shared_->queues[id].suspended.load(std::memory_order_relaxed) != 0;
  }
  // Tells the debugger of an exception of the process, if it wants to hear of it.
  void raise(kfd::Exception exception);
  // Waits until a debugger lets the runtime go on, or is gone.
  void wait_for_debugger();

 private:
  explicit DebugState(DebugLayout* shared) : shared_(shared) {}
  static std::unique_ptr<DebugState> map(const std::string& file, bool make);

  DebugLayout* const shared_;
};

// Whether this process traces the other.
bool traces(pid_t pid);

}  // namespace softgpu
