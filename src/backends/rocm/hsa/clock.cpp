// Finds the clock of the runtime's timestamps. ROCr converts device ticks to the kernel driver's
// system clock, which is CLOCK_BOOTTIME; that is verified here. If it fits none of the host's
// clocks, it becomes a clock of its own, with periodic readings.
#include <time.h>

#include "backends/rocm/hsa/runtime.h"
#include "base/time.h"

namespace sonde::hsa {

uint32_t g_clock;

namespace {

struct HostClock {
  clockid_t id;
  uint32_t clock;
};
// BOOTTIME first: it equals MONOTONIC until the machine suspends.
constexpr HostClock kHostClocks[] = {{CLOCK_BOOTTIME, SONDE_CLOCK_BOOTTIME},
                                     {CLOCK_MONOTONIC, SONDE_CLOCK_MONOTONIC},
                                     {CLOCK_MONOTONIC_RAW, SONDE_CLOCK_MONOTONIC_RAW},
                                     {CLOCK_REALTIME, SONDE_CLOCK_REALTIME}};
constexpr int kTries = 8;
constexpr int64_t kToleranceNs = 20'000;  // ROCr extrapolates its own readings
constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kReadAgainNs = 100'000'000;

uint64_t g_frequency = kNsPerSecond;
int64_t g_last_reading;

bool read(uint64_t* value) {
  return next().system_get_info(kSystemTimestamp, value) == kSuccess && *value != 0;
}

bool fits(const HostClock& clock) {
  for (int i = 0; i < kTries; ++i) {
    uint64_t value = 0;
    const int64_t before = clock_ns(clock.id);
    if (!read(&value)) return false;
    const int64_t after = clock_ns(clock.id);
    const auto reading = static_cast<int64_t>(value);
    if (reading < before - kToleranceNs || reading > after + kToleranceNs) return false;
  }
  return true;
}

}  // namespace

void find_clock() {
  next().system_get_info(kSystemTimestampFrequency, &g_frequency);
  for (const HostClock& clock : kHostClocks) {
    if (g_frequency == kNsPerSecond && fits(clock)) {
      g_clock = clock.clock;
      return;
    }
  }
  g_clock = agent().define_clock("hsa");
  read_clock_again();
}

void read_clock_again() {
  if (g_clock <= SONDE_CLOCK_BOOTTIME) return;
  const int64_t now = clock_ns(CLOCK_MONOTONIC);
  if (g_last_reading != 0 && now < g_last_reading + kReadAgainNs) return;
  g_last_reading = now;
  uint64_t value = 0;
  const uint64_t before = agent().ticks();
  if (read(&value)) agent().clock_snapshot(g_clock, value, before, agent().ticks());
}

}  // namespace sonde::hsa
