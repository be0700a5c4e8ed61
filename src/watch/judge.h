// Interpreting a snapshot: alerts with their reasons, dies that share a power sensor, throttling in
// words.
#pragma once

#include <cstdint>
#include <vector>

#include "watch/snapshot.h"

namespace sonde::watch {

// Fills in Gpu::power_of and the alerts.
void judge(Snapshot& snapshot);
std::vector<Throttle> nvidia_throttles(uint64_t bits);
// "power limit 62 %, hot"; "" if nothing throttles it.
std::string throttle_text(const Gpu& gpu);
// The GPU with the power sensor of the card that this GPU is a die of.
const Gpu& power_sensor(const Snapshot& snapshot, const Gpu& gpu);

}  // namespace sonde::watch
