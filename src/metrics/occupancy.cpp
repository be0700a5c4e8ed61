#include "metrics/occupancy.h"

#include <algorithm>

namespace sonde::metrics {
namespace {

constexpr int kSimds = 4;
constexpr int kWaveItems = 64;
constexpr int kMostGroups = 16;  // of several waves, on a CU: there are so many barriers

struct Limits {
  std::string_view gpu;
  int waves;        // of a SIMD
  int registers;    // for a lane of all waves of a SIMD
  int granule;      // in which registers are given out
  bool is_unified;  // AGPRs are of the same file as VGPRs
  int lds_bytes;    // of a CU
  int lds_granule;
};
constexpr Limits kLimits[] = {
    {"gfx906", 10, 256, 4, false, 65536, 512}, {"gfx908", 10, 256, 4, false, 65536, 512},
    {"gfx90a", 8, 512, 8, true, 65536, 512},   {"gfx940", 8, 512, 8, true, 65536, 512},
    {"gfx941", 8, 512, 8, true, 65536, 512},   {"gfx942", 8, 512, 8, true, 65536, 512},
    {"gfx950", 8, 512, 8, true, 163840, 1280}};

int rounded_up(int number, int granule) { return (number + granule - 1) / granule * granule; }

int waves_by_registers(const Limits& limits, const KernelResources& kernel) {
  const auto fit = [&](int registers) {
    return limits.registers / std::max(rounded_up(registers, limits.granule), limits.granule);
  };
  if (!limits.is_unified) return fit(std::max(kernel.vgprs, kernel.agprs));
  return fit(rounded_up(kernel.vgprs, 4) + kernel.agprs);
}

// A SIMD has 800 SGPRs, given out in sixteens.
int waves_by_sgprs(const KernelResources& kernel) {
  return 800 / std::max(rounded_up(kernel.sgprs, 16), 16);
}

}  // namespace

std::optional<Occupancy> occupancy_of(std::string_view gpu, const KernelResources& kernel) {
  const auto limits = std::find_if(std::begin(kLimits), std::end(kLimits),
                                   [&](const Limits& known) { return known.gpu == gpu; });
  const bool is_possible = kernel.vgprs >= 0 && kernel.vgprs <= 512 && kernel.agprs >= 0 &&
                           kernel.agprs <= 256 && kernel.sgprs >= 0 && kernel.sgprs <= 128 &&
                           kernel.group_items >= 0 && kernel.group_items <= 1024 &&
                           kernel.lds_bytes >= 0;
  if (limits == std::end(kLimits) || !is_possible || kernel.lds_bytes > limits->lds_bytes) {
    return std::nullopt;
  }
  Occupancy result{limits->waves, limits->waves, ""};
  const auto limit = [&](int waves, const char* by) {
    if (waves < result.waves_per_simd) result = {waves, limits->waves, by};
  };
  limit(waves_by_registers(*limits, kernel), "VGPRs");
  limit(waves_by_sgprs(kernel), "SGPRs");
  if (kernel.group_items > 0) {
    // Waves of a group are on one CU, spread over its SIMDs.
    const int waves = (kernel.group_items + kWaveItems - 1) / kWaveItems;
    const auto per_simd = [&](int groups) { return (groups * waves + kSimds - 1) / kSimds; };
    if (waves > 1) limit(per_simd(kMostGroups), "work groups");
    if (kernel.lds_bytes > 0) {
      limit(per_simd(limits->lds_bytes / rounded_up(kernel.lds_bytes, limits->lds_granule)), "LDS");
    }
  }
  return result;
}

}  // namespace sonde::metrics
