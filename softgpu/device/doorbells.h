// Doorbells: how the device sleeps while idle and is woken by the plain store that rings a
// doorbell.
//
// During sleep the doorbells are write-protected with userfaultfd: a store faults, this side is
// notified through a file descriptor and lifts the protection, and the store continues. Where the
// kernel does not permit that, sleeping means short naps.
//
// wait() and arm()/disarm() are for one thread at a time, the other functions for any.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/pinned.h"

namespace softgpu {

class Doorbells : sonde::Pinned {
 public:
  enum class Mode { kAuto, kNap };
  explicit Doorbells(Mode mode = Mode::kAuto);
  ~Doorbells();

  void watch(uint32_t gpu, uint64_t address, uint64_t bytes);
  // A GPU has queues: all of its doorbells must be watched, or sleeping means napping.
  void gpu_in_use(uint32_t gpu);

  // After arm(), check all queues once more, then wait().
  void arm();
  void disarm();
  bool armed() const { return armed_; }
  // Sleeps until a doorbell rings, wake() is called or the timeout expires; true in the first two
  // cases. idle_ns: time since the last event.
  bool wait(int64_t timeout_ns, int64_t idle_ns);
  void wake();

 private:
  struct Range {
    uint32_t gpu;
    uint64_t address, bytes;
  };
  bool protect(bool on);
  bool complete();

  int fault_fd_ = -1;  // userfaultfd, -1 = nap
  int wake_fd_ = -1;
  std::mutex mutex_;  // protects ranges_ and gpus_
  std::vector<Range> ranges_;
  std::vector<uint32_t> gpus_;
  bool armed_ = false;
  std::atomic<bool> sleeping_{false};
};

}  // namespace softgpu
