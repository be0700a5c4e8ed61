#include "isa/host_traps.h"

#include <thread>

namespace softgpu::isa {

void HostTraps::stop() {
  interval_ns_ = 0;
  while (inside_ != 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
}

bool HostTraps::enter(int64_t& last) {
  ++inside_;
  // Read after that: either stop() sees this thread, or this thread sees that stop() was called.
  const int64_t interval_ns = interval_ns_;
  if (interval_ns != 0) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const int64_t current = std::chrono::nanoseconds(now).count() / interval_ns;
    if (current != last) {
      last = current;
      return true;
    }
  }
  leave();
  return false;
}

uint32_t HostTraps::distance(uint32_t& random) {
  random ^= random << 13;
  random ^= random >> 17;
  random ^= random << 5;
  return 1 + (random >> 8) % 1024;
}

}  // namespace softgpu::isa
