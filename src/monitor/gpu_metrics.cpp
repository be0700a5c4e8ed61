#include "monitor/gpu_metrics.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace sonde::monitor {

namespace {

// Where the values of a version stand, in bytes from its beginning; 0: it does not have them.
// Temperatures are in degrees, power in watts, activities in percent, clocks in MHz, 16 bits each;
// throttle_status has 32.
struct Layout {
  uint8_t format, first_content, last_content;
  uint16_t bytes;  // at least
  uint16_t edge, junction, memory;
  uint16_t busy, memory_busy, media, power;
  uint16_t sclk, sclks;  // of each compute die
  uint16_t mclk;
  uint16_t average_sclk, average_mclk;  // where the current ones are not told
  uint16_t throttle;
};

constexpr Layout kLayouts[] = {
    {1, 0, 0, 76, 16, 18, 20, 28, 30, 32, 34, 54, 1, 58, 40, 44, 68},
    {1, 1, 3, 96, 4, 6, 8, 16, 18, 20, 22, 54, 1, 58, 40, 44, 68},
    {1, 4, 4, 288, 0, 4, 6, 12, 14, 0, 10, 240, 8, 280, 0, 0, 40},
    {1, 5, 5, 360, 0, 4, 6, 12, 14, 0, 10, 312, 8, 352, 0, 0, 104},
    {1, 6, 6, 1664, 0, 4, 6, 12, 14, 0, 10, 264, 8, 304, 0, 0, 0},
    // Only the beginning of 1.7 is as before.
    {1, 7, 7, 16, 0, 4, 6, 12, 14, 0, 10, 0, 0, 0, 0, 0, 0},
    // Those of APUs: their temperatures, powers and activities have other units in every driver,
    // and are had from the files beside.
    {2, 0, 0, 116, 0, 0, 0, 0, 0, 0, 0, 80, 1, 84, 68, 72, 112},
    {2, 1, 4, 112, 0, 0, 0, 0, 0, 0, 0, 76, 1, 80, 64, 68, 108},
};

class Table {
 public:
  explicit Table(std::string_view bytes) : bytes_(bytes) {}

  std::optional<double> half(uint16_t offset) const { return get<uint16_t>(offset); }
  std::optional<double> word(uint16_t offset) const { return get<uint32_t>(offset); }

 private:
  // All ones stands for a value that the card does not have.
  template <typename T>
  std::optional<double> get(uint16_t offset) const {
    T value = 0;
    if (offset == 0 || offset + sizeof value > bytes_.size()) return std::nullopt;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    if (value == static_cast<T>(~T{0})) return std::nullopt;
    return value;
  }
  std::string_view bytes_;
};

const Layout* layout_of(uint8_t format, uint8_t content) {
  for (const Layout& layout : kLayouts) {
    const bool content_fits = content >= layout.first_content && content <= layout.last_content;
    if (layout.format == format && content_fits) return &layout;
  }
  return nullptr;
}

}  // namespace

std::optional<GpuMetrics> parse_gpu_metrics(std::string_view bytes) {
  uint16_t size = 0;
  if (bytes.size() < 4) return std::nullopt;
  std::memcpy(&size, bytes.data(), sizeof size);
  const Layout* layout = layout_of(static_cast<uint8_t>(bytes[2]), static_cast<uint8_t>(bytes[3]));
  const size_t length = std::min<size_t>(size, bytes.size());
  if (layout == nullptr || length < layout->bytes) return std::nullopt;
  const Table table(bytes.substr(0, length));
  GpuMetrics metrics;
  metrics.edge_c = table.half(layout->edge);
  metrics.junction_c = table.half(layout->junction);
  metrics.memory_c = table.half(layout->memory);
  metrics.busy_percent = table.half(layout->busy);
  metrics.mem_busy_percent = table.half(layout->memory_busy);
  metrics.media_percent = table.half(layout->media);
  metrics.power_w = table.half(layout->power);
  for (int die = 0; die < layout->sclks; ++die) {
    const auto mhz = table.half(static_cast<uint16_t>(layout->sclk + 2 * die));
    if (mhz) metrics.sclk_mhz = std::max(metrics.sclk_mhz.value_or(0), *mhz);
  }
  metrics.mclk_mhz = table.half(layout->mclk);
  if (!metrics.sclk_mhz) metrics.sclk_mhz = table.half(layout->average_sclk);
  if (!metrics.mclk_mhz) metrics.mclk_mhz = table.half(layout->average_mclk);
  metrics.throttle = table.word(layout->throttle);
  return metrics;
}

const char* gpu_metrics_versions() { return "1.0 to 1.7 and 2.0 to 2.4"; }

}  // namespace sonde::monitor
