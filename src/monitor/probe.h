// Which metrics this machine has: tries them all once. For `sonde avail` and `sonde doctor`.
#pragma once

#include <vector>

#include "monitor/sampler.h"

namespace sonde::monitor {

struct Availability {
  Selection there;               // those that have a value, of this process, host or a GPU
  std::vector<Missing> missing;  // what could not be read
  std::vector<DeviceName> names;
};

Availability probe(const Roots& roots);

// How to allow what was denied or switch on what is off, for each of these once; "" if that is
// impossible.
std::string how_to_allow(const Missing& missing);

}  // namespace sonde::monitor
