// The layouts of gpu_metrics: every published version as a list of fields, in the order in which
// they stand, each aligned to its own size. Offsets are computed from them (gpu_metrics.cpp).
#pragma once

#include <cstdint>
#include <span>

namespace sonde::monitor {

// What a number of a field is. What drivers do not agree on is kRaw.
enum class GpuUnit : uint8_t {
  kRaw,
  kCelsius,
  kCentiCelsius,
  kPercent,
  kCentiPercent,
  kWatt,
  kMilliwatt,
  kMillivolt,
  kMilliampere,
  kMegahertz,
  kEnergy,  // 2^-16 J (15.259 uJ)
  kNs,
  kTenNs,
  kRpm,
  kLanes,
  kTenthGts,      // 0.1 GT/s
  kGbitPerS,      // Gbit/s
  kGbytePerS,     // GB/s
  kMbytePerS,     // MB/s
  kKilobytes,     // KB
  kPercentTicks,  // percent, added up at every tick of the accumulation counter
  kTicks,         // of the accumulation counter
  kCount,
  kBits,
};
const char* unit_text(GpuUnit unit);  // "0.1 GT/s"; "" of kRaw, kCount and kBits

// `count` numbers of `bytes` each. A field without a name fills a gap.
struct GpuField {
  const char* name;
  uint8_t bytes, count;
  GpuUnit unit;
};

// Before the partitions, of each of eight partitions, and after them.
struct GpuLayout {
  uint8_t format, content;
  std::span<const std::span<const GpuField>> parts;
  std::span<const GpuField> partition, tail;
};
constexpr uint8_t kGpuPartitions = 8;

std::span<const GpuLayout> gpu_layouts();

}  // namespace sonde::monitor
