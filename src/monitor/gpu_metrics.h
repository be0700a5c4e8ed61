// gpu_metrics: the table of values that the amdgpu driver shows as a binary file, in each of its
// published versions. What a version or a card has no value for is not there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "monitor/gpu_metrics_layout.h"

namespace sonde::monitor {

// A table whose every field can be asked for. Holds no copy of the bytes.
class GpuMetricsTable {
 public:
  // An error says what it is instead: cut off, or an unknown version.
  static Result<GpuMetricsTable> read(std::string_view bytes);

  std::string version() const;  // "1.3"
  // A number as it stands there; nullopt if the version has no such field or the card no value.
  // `partition` is -1 for what stands before or after the partitions.
  std::optional<uint64_t> number(std::string_view field, int index = 0, int partition = -1) const;
  // The numbers of a field that have a value.
  uint64_t sum(std::string_view field) const;
  std::optional<uint64_t> largest(std::string_view field) const;
  // Every number, those without a value too.
  using Visitor = std::function<void(const GpuField& field, int index, int partition,
                                     std::optional<uint64_t> value)>;
  void visit(const Visitor& visitor) const;

 private:
  std::optional<uint64_t> at(size_t offset, uint8_t bytes) const;
  const GpuField* find(std::string_view field, int partition, size_t& offset) const;

  std::string_view bytes_;
  const GpuLayout* layout_ = nullptr;
};

struct GpuMetrics {
  std::optional<double> busy_percent, mem_busy_percent, media_percent;
  std::optional<double> power_w;
  std::optional<double> edge_c, junction_c, memory_c;
  std::optional<double> sclk_mhz, mclk_mhz;
  std::optional<double> throttle;  // the driver's bits
};

GpuMetrics summary_of(const GpuMetricsTable& table);
// Which versions are known, for a message.
const char* gpu_metrics_versions();

}  // namespace sonde::monitor
