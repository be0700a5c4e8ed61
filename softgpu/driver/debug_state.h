// DebugState: what a debugger and the process that it debugs share: a file in the tree, mapped by
// both. The process publishes its queues and its runtime's state, the debugger its requests.
//
// All updates are safe for the other side: single atomic words, and a queue's slot is written
// before the word that makes it exist.
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

// The state of a queue's waves. Queues begin with kRunning.
enum class WavesAre : uint32_t { kRunning, kSaved, kNotSaved };

struct DebuggedQueue {
  std::atomic<uint32_t> exists, suspended;  // suspended: as the debugger wants it
  std::atomic<WavesAre> waves;              // as the process reports them
  std::atomic<uint64_t> exceptions;
  std::atomic<uint64_t> to_runtime;  // those that the debugger passes on
  uint64_t ring, write_pointer, read_pointer, save_area;
  uint32_t gpu_id, ring_bytes, type, save_area_bytes, control_stack_bytes;
};

struct DebugLayout {
  static constexpr uint32_t kQueues = 1024;
  static constexpr uint32_t kGpus = 8;

  std::atomic<int32_t> debugger;   // its pid; 0: none
  std::atomic<int32_t> notifier;   // its descriptor that is notified of exceptions
  std::atomic<uint64_t> reported;  // exceptions that it wants to be notified of
  std::atomic<uint32_t> runtime_state, saves_ttmps;
  std::atomic<uint64_t> r_debug;
  std::atomic<uint64_t> exceptions;  // of the process
  std::atomic<uint64_t> gpu_exceptions[kGpus];
  std::atomic<uint32_t> watches[kGpus];     // allocated ones: one bit each
  std::atomic<uint32_t> runtime_may_go_on;  // a counter; the runtime waits for the next value
  std::atomic<uint32_t> launch_mode, trap_mask, flags;
  // Count the debugger's requests for queues of the process, and the answers. Waiters for the next
  // one sleep on them.
  std::atomic<uint32_t> requests, answers;
  std::atomic<int32_t> answering;  // the process' thread that answers; 0: none yet
  DebuggedQueue queues[kQueues];
};

class DebugState : sonde::Pinned {
 public:
  // This process' state; created anew unless its debugger has it already.
  static std::unique_ptr<DebugState> own(const std::string& tree);
  // Another process' state; `make` creates it if it has not opened a device yet.
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
  // Notifies the debugger of an exception of the process, if it wants that.
  void raise(kfd::Exception exception);
  // The same for a mask of exceptions of a queue. False if the debugger does not want it.
  bool raise_queue(uint32_t id, uint64_t exceptions);
  // Waits until a debugger lets the runtime continue, or is gone.
  void wait_for_debugger();
  // Whether the debugger has ended; if so, everything is as after a detach.
  bool lost_debugger();

  // For the debugger: waits until the process has done what was requested for a queue. False if it
  // does not, because it is stopped itself, is gone or takes too long.
  bool wait_for_waves(const DebuggedQueue& queue, pid_t process);
  // Call after changing `requests` or `answers`: wakes the waiters.
  static void tell(std::atomic<uint32_t>& count);
  // Waits until the count differs from `seen`, or the timeout expires.
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
