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

#include "base/pinned.h"
#include "config/config.h"
#include "driver/kfd_abi.h"

struct kfd_ioctl_create_queue_args;

namespace softgpu {

// What has become of a queue's waves. kRunning is what a queue begins with.
enum class WavesAre : uint32_t { kRunning, kSaved, kNotSaved };

struct DebuggedQueue {
  std::atomic<uint32_t> exists, suspended;  // the latter as the debugger wants it
  std::atomic<WavesAre> waves;              // as the process says
  std::atomic<uint64_t> exceptions;
  std::atomic<uint64_t> to_runtime;  // of them, what the debugger passes on
  uint64_t ring, write_pointer, read_pointer, save_area;
  uint32_t gpu_id, ring_bytes, type, save_area_bytes, control_stack_bytes;
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
  // Count what the debugger asks of the process's queues, and the answers. Who waits for the next
  // sleeps on them.
  std::atomic<uint32_t> requests, answers;
  std::atomic<int32_t> answering;  // the thread of the process that does; 0: none yet
  DebuggedQueue queues[kQueues];
};

class DebugState : sonde::Pinned {
 public:
  // Of this process, made anew unless its debugger has it already.
  static std::unique_ptr<DebugState> own(const std::string& tree);
  // Of another process; `make` it if it has not opened a device yet.
  static std::unique_ptr<DebugState> of(const std::string& tree, pid_t pid, bool make);
  ~DebugState();

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
  // The same of exceptions of a queue, as a mask. False if it does not.
  bool raise_queue(uint32_t id, uint64_t exceptions);
  // Waits until a debugger lets the runtime go on, or is gone.
  void wait_for_debugger();
  // Whether it is still there; if not, it is as if it had let go.
  bool lost_debugger();

  // For the debugger: waits until the process has done with a queue what was asked. False if it
  // does not come to that, because it is stopped itself, is gone or takes too long.
  bool wait_for_waves(const DebuggedQueue& queue, pid_t process);
  // After a change of `requests` or `answers`: wakes who sleeps on it.
  static void tell(std::atomic<uint32_t>& count);
  // Until it is no more what was `seen`, or the time is over.
  static void wait_for_change(std::atomic<uint32_t>& count, uint32_t seen,
                              std::optional<int> limit_ms);

 private:
  explicit DebugState(DebugLayout* shared) : shared_(shared) {}
  void notify();
  static std::unique_ptr<DebugState> map(const std::string& file, bool make);

  DebugLayout* const shared_;
};

// Whether this process traces the other.
bool traces(pid_t pid);

}  // namespace softgpu
