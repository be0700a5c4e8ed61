#include "device/clock.h"

#include <ctime>

#include "device/device.h"

namespace softgpu {

int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

uint64_t device_ticks_at(const ClockConfig& clock, int64_t monotonic_ns) {
  // 128 bits: a GHz counter after weeks of uptime, times a drift in ppb, overflows 64.
  constexpr __int128 kBillion = 1'000'000'000;
  __int128 scaled = static_cast<__int128>(monotonic_ns) * clock.rate_hz;
  scaled = (scaled * (kBillion + clock.drift_ppb)) / kBillion / kBillion;
  return static_cast<uint64_t>(static_cast<int64_t>(scaled) + clock.offset_ticks);
}

uint64_t device_ticks(const ClockConfig& clock) { return device_ticks_at(clock, monotonic_ns()); }

}  // namespace softgpu
