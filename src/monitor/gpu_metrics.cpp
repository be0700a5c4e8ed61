#include "monitor/gpu_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sonde::monitor {

namespace {

constexpr size_t kHeader = 4;

size_t aligned(size_t offset, size_t to) { return (offset + to - 1) / to * to; }

// Calls `each` with every field and its offset until it returns true; the end of the fields.
template <typename Each>
size_t walk(std::span<const GpuField> fields, size_t offset, const Each& each, bool& found) {
  for (const GpuField& field : fields) {
    offset = aligned(offset, field.bytes);
    if (field.name != nullptr && each(field, offset)) {
      found = true;
      return offset;
    }
    offset += size_t{field.bytes} * field.count;
  }
  return offset;
}

// The same with all of a layout; each(field, offset, partition).
template <typename Each>
size_t walk(const GpuLayout& layout, const Each& each) {
  size_t offset = kHeader;
  bool found = false;
  int partition = -1;
  const auto one = [&](const GpuField& field, size_t at) { return each(field, at, partition); };
  for (const auto& part : layout.parts) {
    offset = walk(part, offset, one, found);
    if (found) return offset;
  }
  if (layout.partition.empty()) return offset;
  for (partition = 0; partition < kGpuPartitions; ++partition) {
    offset = walk(layout.partition, aligned(offset, sizeof(uint64_t)), one, found);
    if (found) return offset;
  }
  partition = -1;
  return walk(layout.tail, offset, one, found);
}

const GpuLayout* layout_of(uint8_t format, uint8_t content) {
  for (const GpuLayout& layout : gpu_layouts()) {
    if (layout.format == format && layout.content == content) return &layout;
  }
  return nullptr;
}

std::optional<double> real(std::optional<uint64_t> number, double scale = 1) {
  if (!number) return std::nullopt;
  return scale * static_cast<double>(*number);
}

}  // namespace

Result<GpuMetricsTable> GpuMetricsTable::read(std::string_view bytes) {
  uint16_t size = 0;
  if (bytes.size() < kHeader) {
    return make_error(ErrorCode::kBadData,
                      fmt::format("{} bytes, too few for a table", bytes.size()));
  }
  std::memcpy(&size, bytes.data(), sizeof size);
  const auto format = static_cast<uint8_t>(bytes[2]), content = static_cast<uint8_t>(bytes[3]);
  GpuMetricsTable table;
  table.layout_ = layout_of(format, content);
  if (table.layout_ == nullptr) {
    return make_error(
        ErrorCode::kUnsupported,
        fmt::format("version {}.{} is not known; {} are", format, content, gpu_metrics_versions()));
  }
  const size_t length = std::min<size_t>(size, bytes.size());
  const size_t end = walk(*table.layout_, [](const GpuField&, size_t, int) { return false; });
  const size_t needed = aligned(end, sizeof(uint64_t));
  if (length < needed) {
    return make_error(ErrorCode::kBadData, fmt::format("a table {}.{} of {} bytes, which has {}",
                                                       format, content, length, needed));
  }
  table.bytes_ = bytes.substr(0, length);
  return table;
}

std::string GpuMetricsTable::version() const {
  return fmt::format("{}.{}", layout_->format, layout_->content);
}

// All ones stands for a value that the card does not have.
std::optional<uint64_t> GpuMetricsTable::at(size_t offset, uint8_t bytes) const {
  uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + offset, bytes);
  if (value == ~uint64_t{0} >> (64 - 8 * bytes)) return std::nullopt;
  return value;
}

const GpuField* GpuMetricsTable::find(std::string_view name, int partition, size_t& offset) const {
  const GpuField* found = nullptr;
  walk(*layout_, [&](const GpuField& field, size_t at, int of) {
    if (of != partition || name != field.name) return false;
    found = &field;
    offset = at;
    return true;
  });
  return found;
}

std::optional<uint64_t> GpuMetricsTable::number(std::string_view name, int index,
                                                int partition) const {
  size_t offset = 0;
  const GpuField* field = find(name, partition, offset);
  if (field == nullptr || index < 0 || index >= field->count) return std::nullopt;
  return at(offset + static_cast<size_t>(index) * field->bytes, field->bytes);
}

uint64_t GpuMetricsTable::sum(std::string_view name) const {
  size_t offset = 0;
  uint64_t sum = 0;
  const GpuField* field = find(name, -1, offset);
  for (size_t i = 0; field != nullptr && i < field->count; ++i) {
    sum += at(offset + i * field->bytes, field->bytes).value_or(0);
  }
  return sum;
}

std::optional<uint64_t> GpuMetricsTable::largest(std::string_view name) const {
  size_t offset = 0;
  std::optional<uint64_t> most;
  const GpuField* field = find(name, -1, offset);
  for (size_t i = 0; field != nullptr && i < field->count; ++i) {
    const auto value = at(offset + i * field->bytes, field->bytes);
    if (value) most = std::max(most.value_or(0), *value);
  }
  return most;
}

void GpuMetricsTable::visit(const Visitor& visitor) const {
  walk(*layout_, [&](const GpuField& field, size_t offset, int partition) {
    for (size_t i = 0; i < field.count; ++i) {
      const auto value = at(offset + i * field.bytes, field.bytes);
      visitor(field, static_cast<int>(i), partition, value);
    }
    return false;
  });
}

GpuMetrics summary_of(const GpuMetricsTable& table) {
  GpuMetrics metrics;
  // For APUs, the units of temperatures, powers and activities differ between drivers, so these
  // come from other files.
  if (table.version()[0] == '1') {
    metrics.edge_c = real(table.number("temperature_edge"));
    metrics.junction_c = real(table.number("temperature_hotspot"));
    metrics.memory_c = real(table.number("temperature_mem"));
    metrics.busy_percent = real(table.number("average_gfx_activity"));
    metrics.mem_busy_percent = real(table.number("average_umc_activity"));
    metrics.media_percent = real(table.number("average_mm_activity"));
    metrics.power_w = real(table.number("average_socket_power"));
    if (!metrics.power_w) metrics.power_w = real(table.number("curr_socket_power"));
  }
  // The fastest die's clock; if the current clock is missing, the average.
  metrics.sclk_mhz = real(table.largest("current_gfxclk"));
  metrics.mclk_mhz = real(table.number("current_uclk"));
  if (!metrics.sclk_mhz) metrics.sclk_mhz = real(table.number("average_gfxclk_frequency"));
  if (!metrics.mclk_mhz) metrics.mclk_mhz = real(table.number("average_uclk_frequency"));
  metrics.throttle = real(table.number("throttle_status"));
  return metrics;
}

const char* gpu_metrics_versions() { return "1.0 to 1.8, 2.0 to 2.4 and 3.0"; }

}  // namespace sonde::monitor
