// The host clock that all device times are based on; device clocks are derived from it
// (device_ticks in device.h).
#pragma once

#include <cstdint>

namespace softgpu {

int64_t monotonic_ns();

}  // namespace softgpu
