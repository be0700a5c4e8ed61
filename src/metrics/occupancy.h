// How many waves of a kernel fit on a SIMD at a time, from its registers, LDS and work group alone.
// Used by `sonde occupancy` and the advice of `sonde sol`; needs no counters. RDNA's waves have 32
// items here, and its work groups a pair of CUs, as HIP compiles unless told otherwise.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sonde::metrics {

struct KernelResources {
  int vgprs = 0;        // of a lane
  int agprs = 0;        // accumulation registers
  int sgprs = 0;        // of a wave
  int lds_bytes = 0;    // of a work group
  int group_items = 0;  // work items of a work group; 0 = not known
};

struct Occupancy {
  int waves_per_simd = 0;
  int most_waves = 0;   // that the SIMD can hold of any kernel
  std::string limiter;  // "VGPRs", "SGPRs", "LDS", "work groups"; "" where nothing limits
};

// nullopt for an unknown architecture, or resources that no kernel can have.
std::optional<Occupancy> occupancy_of(std::string_view gpu, const KernelResources& resources);

}  // namespace sonde::metrics
