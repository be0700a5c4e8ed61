// WaveHold: where the waves of a queue wait while a debugger holds it. Threads that run its groups
// check in between instructions; the debugger's side waits until all of them are there, saves the
// waves' state, and lets them continue unchanged or as the debugger has modified them. Waves of a
// failed kernel stay in it, as on a GPU, until the queue is destroyed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "isa/save_area.h"

namespace softgpu::isa {

class WaveHold {
 public:
  // For the thread that runs a group. begin() blocks while the queue is held.
  void begin();
  void end();
  // The same for a group that waits for others and has no thread meanwhile: its waves are stopped
  // all the same. `meanwhile` is as for stay(), and called by any thread that waits while a
  // debugger holds them.
  void end_parked(const StoppedGroup& group, std::function<void()> meanwhile);
  void begin_parked(const StoppedGroup& group);
  void forget_parked(const StoppedGroup& group);
  bool is_wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // The group is stopped, and may be modified, until this returns. `meanwhile` is called
  // periodically, and must not call this function.
  void stay(const StoppedGroup& group, const std::function<void()>& meanwhile);
  // No wave of the group can run: waits until a debugger holds the queue, or it is destroyed.
  void wait_until_wanted();
  // Keeps a copy of a group whose kernel has failed.
  void keep(const StoppedGroup& group);

  // For the debugger's side. Waves stop soon after hold(); saved() waits for that, and is empty if
  // they did not.
  void hold();
  std::optional<SavedWaves> saved(std::chrono::milliseconds limit);
  // Lets them continue, with the state in `waves`, unless that is empty.
  void release(std::span<uint8_t> waves);

  // The queue is destroyed: releases all waiters.
  void end_all();

 private:
  struct Kept {
    std::vector<std::unique_ptr<Wave>> waves;
    std::vector<uint8_t> lds;
    StoppedGroup group;
  };
  std::vector<StoppedGroup> groups() const;

  std::atomic<bool> wanted_{false};
  bool ended_ = false;
  uint32_t running_ = 0;  // groups that have begun, including stopped ones
  struct Parked {
    const StoppedGroup* group;
    std::function<void()> meanwhile;
  };
  // Call with the lock; returns when no debugger holds the queue.
  void wait_while_held(std::unique_lock<std::mutex>& lock, const std::function<void()>& meanwhile);

  std::list<const StoppedGroup*> staying_;
  std::list<Parked> parked_;
  std::list<Kept> kept_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace softgpu::isa
