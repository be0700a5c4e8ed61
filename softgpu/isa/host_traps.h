// HostTraps: traps that the driver sends to the waves of a GPU while they run, which is how program
// counters are sampled: the trap handler notes where the wave was, and the wave goes on. One for
// each GPU; thread-safe.
//
// In each interval of the host's clock one wave of each group that a thread runs is trapped. Which
// one, and where: the first that runs when a random number of instructions has passed, so that
// a loop whose length fits the turns of waves is not seen at one place only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace softgpu::isa {

class HostTraps {
 public:
  void start(std::chrono::nanoseconds interval) { interval_ns_ = interval.count(); }
  // Comes back when no wave is in the handler because of this: what that writes to may go.
  void stop();
  bool is_on() const { return interval_ns_.load(std::memory_order_relaxed) != 0; }

  // For a thread that runs waves: whether a wave is to be trapped now. Then leave() must follow.
  // `last`: in which interval its thread last did so.
  bool enter(int64_t& last);
  void leave() { --inside_; }

  // From one place where a wave may be trapped to the next, in instructions: 1 to 1024.
  static uint32_t distance(uint32_t& random);

 private:
  std::atomic<int64_t> interval_ns_{0};
  std::atomic<uint32_t> inside_{0};
};

}  // namespace softgpu::isa
