#include "metrics/occupancy.h"

#include <algorithm>

namespace sonde::metrics {
namespace {

constexpr int kSimds = 4;  // of what runs a work group: a CU, on RDNA two of them together

struct Limits {
  std::string_view gpu;
  int waves;        // of a SIMD
  int wave_items;   // as HIP compiles
  int registers;    // for a lane of all waves of a SIMD
  int granule;      // in which registers are given out
  bool is_unified;  // AGPRs are of the same file as VGPRs
  int sgprs;        // of a SIMD; 0 = each wave has its own
  int lds_bytes;    // of what runs a work group
  int lds_granule;
  int groups;     // of several waves: there are so many barriers
  int group_lds;  // that one group can have
};
constexpr Limits gcn(std::string_view gpu) {
  return {gpu, 10, 64, 256, 4, false, 800, 65536, 512, 16, 65536};
}
constexpr Limits cdna(std::string_view gpu) {
  return {gpu, 8, 64, 512, 8, true, 800, 65536, 512, 16, 65536};
}
constexpr Limits rdna(std::string_view gpu, int waves, int registers, int granule) {
  return {gpu, waves, 32, registers, granule, false, 0, 131072, 512, 32, 65536};
}
constexpr Limits kLimits[] = {gcn("gfx900"),
                              gcn("gfx906"),
                              gcn("gfx908"),
                              cdna("gfx90a"),
                              cdna("gfx940"),
                              cdna("gfx941"),
                              cdna("gfx942"),
                              {"gfx950", 8, 64, 512, 8, true, 800, 163840, 1280, 16, 163840},
                              rdna("gfx1010", 20, 1024, 8),
                              rdna("gfx1011", 20, 1024, 8),
                              rdna("gfx1012", 20, 1024, 8),
                              rdna("gfx1030", 16, 1024, 16),
                              rdna("gfx1031", 16, 1024, 16),
                              rdna("gfx1032", 16, 1024, 16),
                              rdna("gfx1100", 16, 1536, 24),
                              rdna("gfx1101", 16, 1536, 24),
                              rdna("gfx1102", 16, 1024, 16),
                              rdna("gfx1200", 16, 1536, 24),
                              rdna("gfx1201", 16, 1536, 24)};

int rounded_up(int number, int granule) { return (number + granule - 1) / granule * granule; }

int waves_by_registers(const Limits& limits, const KernelResources& kernel) {
  const auto fit = [&](int registers) {
    return limits.registers / std::max(rounded_up(registers, limits.granule), limits.granule);
  };
  if (!limits.is_unified) return fit(std::max(kernel.vgprs, kernel.agprs));
  return fit(rounded_up(kernel.vgprs, 4) + kernel.agprs);
}

// Given out in sixteens.
int waves_by_sgprs(const Limits& limits, const KernelResources& kernel) {
  if (limits.sgprs == 0) return limits.waves;
  return limits.sgprs / std::max(rounded_up(kernel.sgprs, 16), 16);
}

}  // namespace

std::optional<Occupancy> occupancy_of(std::string_view gpu, const KernelResources& kernel) {
  const auto limits = std::find_if(std::begin(kLimits), std::end(kLimits),
                                   [&](const Limits& known) { return known.gpu == gpu; });
  const bool is_possible = kernel.vgprs >= 0 && kernel.vgprs <= 512 && kernel.agprs >= 0 &&
                           kernel.agprs <= 256 && kernel.sgprs >= 0 && kernel.sgprs <= 128 &&
                           kernel.group_items >= 0 && kernel.group_items <= 1024 &&
                           kernel.lds_bytes >= 0;
  if (limits == std::end(kLimits) || !is_possible || kernel.lds_bytes > limits->group_lds) {
    return std::nullopt;
  }
  Occupancy result{limits->waves, limits->waves, ""};
  const auto limit = [&](int waves, const char* by) {
    if (waves < result.waves_per_simd) result = {waves, limits->waves, by};
  };
  limit(waves_by_registers(*limits, kernel), "VGPRs");
  limit(waves_by_sgprs(*limits, kernel), "SGPRs");
  if (kernel.group_items > 0) {
    // Waves of a group are on one CU (or pair of them), spread over its SIMDs.
    const int waves = (kernel.group_items + limits->wave_items - 1) / limits->wave_items;
    const auto per_simd = [&](int groups) { return (groups * waves + kSimds - 1) / kSimds; };
    if (waves > 1) limit(per_simd(limits->groups), "work groups");
    if (kernel.lds_bytes > 0) {
      limit(per_simd(limits->lds_bytes / rounded_up(kernel.lds_bytes, limits->lds_granule)), "LDS");
    }
  }
  return result;
}

}  // namespace sonde::metrics
