// Kernels of known work for each roof of a roofline, and their launches on every GPU that HIP sees.
// Used by `sonde roofs`, which runs this in a recorded process of its own.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace sonde::measure {

struct Roof {
  const char* kernel;  // its name
  const char* column;  // of roofline.csv: "HBMBw"
  bool is_bandwidth;   // else operations
  // What a launch is, on a card and on a software GPU, which has no time for more.
  struct Size {
    unsigned groups_of_cu;  // 0: as much as `elements` has
    unsigned elements;      // of 16 bytes, in the memory that is read
    unsigned rounds;
  } card, software;
  // Bytes or operations of a wave for each round; where rounds is 0, for 64 elements.
  double of_round;

  const Size& size(bool on_softgpu) const { return on_softgpu ? software : card; }
  double work(unsigned compute_units, bool on_softgpu) const;
};
std::span<const Roof> all_roofs();

// Launches each kernel that the GPUs have: on a card several times, the first only to warm up.
Status launch_roofs(bool on_softgpu);

}  // namespace sonde::measure
