// HostTraps: traps that the driver sends to running waves of a GPU, for sampling program counters:
// the trap handler notes where the wave was, and the wave continues. One per GPU; thread-safe.
//
// In each interval of the host's clock, one wave of each group that a thread is running is trapped:
// the first one to run after a random number of instructions, so that a loop whose length matches
// the waves' turns is not always sampled at the same place.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace softgpu::isa {

class HostTraps {
 public:
  void start(std::chrono::nanoseconds interval) { interval_ns_ = interval.count(); }
  // Returns when no wave is in the handler because of this: what the handler writes to may be
  // freed.
  void stop();
  bool is_on() const { return interval_ns_.load(std::memory_order_relaxed) != 0; }

  // For a thread that runs waves: whether to trap a wave now. If so, call leave() afterwards.
  // `last`: the interval in which this thread last did so.
  bool enter(int64_t& last);
  void leave() { --inside_; }

  // The distance between possible trap points, in instructions: 1 to 1024.
  static uint32_t distance(uint32_t& random);

 private:
  std::atomic<int64_t> interval_ns_{0};
  std::atomic<uint32_t> inside_{0};
};

}  // namespace softgpu::isa
