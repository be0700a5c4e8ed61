// GlobalSync: the resources of a device's global wave sync (GWS), with which waves of different
// groups wait for each other: barriers and semaphores. Cooperative launches of HIP use the first
// resource as a barrier of the grid. The semantics follow AMD's Vega ISA guide.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace softgpu::isa {

// What a wave waits for.
struct GlobalWait {
  enum Kind : uint8_t { kNothing, kBarrier, kSemaphore } kind = kNothing;
  uint8_t resource = 0;
  uint32_t phase = 0;  // of the resource when the wave arrived
};

// Thread-safe.
class GlobalSync {
 public:
  static constexpr unsigned kResources = 64;

  void set(unsigned resource, uint32_t value);
  // A wave arrives at a barrier: the last one releases all, and sets how many waves more the next
  // phase waits for. Returns what the wave has to wait for, if anything.
  GlobalWait arrive(unsigned resource, uint32_t value);
  void add(unsigned resource, uint32_t value);  // semaphore: release
  GlobalWait take(unsigned resource);           // semaphore: acquire
  void release_all(unsigned resource);
  // Whether the wait is over.
  bool is_over(const GlobalWait& wait);

 private:
  struct Resource {
    uint32_t counter = 0, phase = 0;
  };
  std::mutex mutex_;
  std::array<Resource, kResources> resources_{};
};

}  // namespace softgpu::isa
