#include "base/time.h"
#include "device/device.h"

namespace softgpu {

uint64_t device_ticks_at(const ClockConfig& clock, int64_t monotonic_ns) {
  // 128 bits: a GHz counter after weeks of uptime, times a drift in ppb, overflows 64.
  constexpr __int128 kBillion = 1'000'000'000;
  __int128 scaled = static_cast<__int128>(monotonic_ns) * clock.rate_hz;
  scaled = (scaled * (kBillion + clock.drift_ppb)) / kBillion / kBillion;
  return static_cast<uint64_t>(static_cast<int64_t>(scaled) + clock.offset_ticks);
}

uint64_t device_ticks(const ClockConfig& clock) {
  return device_ticks_at(clock, sonde::monotonic_now_ns());
}

}  // namespace softgpu
