// GlobalSync: the resources of a device's global wave sync (GWS), through which waves of different
// groups wait for each other: barriers and semaphores. Cooperative launches of HIP use the first
// for a barrier of the grid. What instructions do follows AMD's guide to the Vega instruction set.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace softgpu::isa {

// What a wave waits for.
struct GlobalWait {
  enum Kind : uint8_t { kNothing, kBarrier, kSemaphore } kind = kNothing;
  uint8_t resource = 0;
  uint32_t phase = 0;  // of the resource when the wave came
};

// Thread-safe.
class GlobalSync {
 public:
  static constexpr unsigned kResources = 64;

  void set(unsigned resource, uint32_t value);
  // A wave comes to a barrier: the last of them lets all go on, and gives the number that is still
  // to come to the next one. What the wave has to wait for, if anything.
  GlobalWait arrive(unsigned resource, uint32_t value);
  void add(unsigned resource, uint32_t value);  // to a semaphore
  GlobalWait take(unsigned resource);           // one from it
  void release_all(unsigned resource);
  // Whether the wave need not wait any more.
  bool is_over(const GlobalWait& wait);

 private:
  struct Resource {
    uint32_t counter = 0, phase = 0;
  };
  std::mutex mutex_;
  std::array<Resource, kResources> resources_{};
};

}  // namespace softgpu::isa
