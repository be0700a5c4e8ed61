#include "tree/live.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "base/time.h"
#include "config/models.h"

namespace softgpu {
namespace {

using Writer = std::string (*)(const GpuConfig&, const GpuLoad&);

std::string line(uint64_t value) { return std::to_string(value) + "\n"; }
std::string percent(double share) { return line(std::lround(std::clamp(share, 0.0, 1.0) * 100)); }

// A simple model of a card: from 16 % of its power limit when idle to 90 % at full load.
double power_w(const GpuConfig& gpu, const GpuLoad& load) {
  return model_of(gpu).power_cap_w * (0.16 + 0.74 * load.busy);
}
double edge_c(const GpuLoad& load) { return 34 + 36 * load.busy; }
double junction_c(const GpuLoad& load) { return 36 + 46 * load.busy; }
double memory_c(const GpuLoad& load) { return 40 + 40 * load.memory_busy; }

struct Levels {
  std::vector<uint32_t> mhz;
  size_t current = 0;
};

Levels shader_levels(const GpuConfig& gpu, const GpuLoad& load) {
  const uint32_t most = gpu.shader_clock_mhz;
  return {{std::min(500u, most / 2), most / 2 + most / 8, most},
          load.busy < 0.02  ? 0u
          : load.busy < 0.3 ? 1u
                            : 2u};
}

Levels memory_levels(const GpuConfig& gpu, const GpuLoad& load) {
  const uint32_t most = gpu.memory_clock_mhz;
  return {{most / 4, most / 2, most}, load.busy < 0.02 && load.memory_busy < 0.02 ? 0u : 2u};
}

std::string dpm(const Levels& levels) {
  std::string text;
  for (size_t i = 0; i < levels.mhz.size(); ++i) {
    text += std::to_string(i) + ": " + std::to_string(levels.mhz[i]) + "Mhz" +
            (i == levels.current ? " *" : "") + "\n";
  }
  return text;
}

uint32_t current_mhz(const Levels& levels) { return levels.mhz[levels.current]; }

// The kernel's metrics table, format 1.3: fields without a value are all ones.
struct GpuMetrics {
  uint16_t structure_size = 0;
  uint8_t format_revision = 1, content_revision = 3;
  uint16_t temperature_edge = 0, temperature_hotspot = 0, temperature_memory = 0;
  uint16_t temperature_vrgfx = 0xffff, temperature_vrsoc = 0xffff, temperature_vrmem = 0xffff;
  uint16_t gfx_activity = 0, memory_activity = 0, media_activity = 0;
  uint16_t socket_power_w = 0;
  uint64_t energy = ~0ull;
  uint64_t system_clock_ns = 0;
  uint16_t average_mhz[7] = {0, 0xffff, 0, 0xffff, 0xffff, 0xffff, 0xffff};
  uint16_t current_mhz[7] = {0, 0xffff, 0, 0xffff, 0xffff, 0xffff, 0xffff};
  uint32_t throttle_status = 0;
  uint16_t fan_rpm = 0, pcie_width = 16, pcie_speed = 160, pad = 0;
  uint32_t gfx_activity_sum = ~0u, memory_activity_sum = ~0u;
  uint16_t temperature_hbm[4] = {0xffff, 0xffff, 0xffff, 0xffff};
  uint64_t firmware_timestamp = ~0ull;
  uint16_t voltage[3] = {0xffff, 0xffff, 0xffff}, pad1 = 0;
  uint64_t throttle_detail = 0;
};
static_assert(sizeof(GpuMetrics) == 120);

std::string metrics(const GpuConfig& gpu, const GpuLoad& load) {
  GpuMetrics table;
  table.structure_size = sizeof table;
  table.temperature_edge = static_cast<uint16_t>(edge_c(load));
  table.temperature_hotspot = static_cast<uint16_t>(junction_c(load));
  table.temperature_memory = static_cast<uint16_t>(memory_c(load));
  table.gfx_activity = static_cast<uint16_t>(std::lround(load.busy * 100));
  table.memory_activity = static_cast<uint16_t>(std::lround(load.memory_busy * 100));
  table.socket_power_w = static_cast<uint16_t>(power_w(gpu, load));
  table.system_clock_ns = static_cast<uint64_t>(sonde::clock_ns(CLOCK_BOOTTIME));
  const auto shader = static_cast<uint16_t>(current_mhz(shader_levels(gpu, load)));
  const auto memory = static_cast<uint16_t>(current_mhz(memory_levels(gpu, load)));
  table.average_mhz[0] = table.current_mhz[0] = shader;
  table.average_mhz[2] = table.current_mhz[2] = memory;
  return {reinterpret_cast<const char*>(&table), sizeof table};
}

struct LiveFile {
  std::string_view name;
  Writer text;
};

constexpr LiveFile kLive[] = {
    {"gpu_busy_percent", [](const GpuConfig&, const GpuLoad& l) { return percent(l.busy); }},
    {"mem_busy_percent", [](const GpuConfig&, const GpuLoad& l) { return percent(l.memory_busy); }},
    {"mem_info_vram_used",
     [](const GpuConfig&, const GpuLoad& l) { return line(l.vram_used_bytes); }},
    {"mem_info_vis_vram_used",
     [](const GpuConfig& g, const GpuLoad& l) {
       const uint64_t visible = g.large_bar ? g.vram_bytes : 256 << 20;
       return line(std::min(visible, l.vram_used_bytes));
     }},
    {"mem_info_gtt_used",
     [](const GpuConfig&, const GpuLoad& l) { return line(l.gtt_used_bytes); }},
    {"pp_dpm_sclk", [](const GpuConfig& g, const GpuLoad& l) { return dpm(shader_levels(g, l)); }},
    {"pp_dpm_mclk", [](const GpuConfig& g, const GpuLoad& l) { return dpm(memory_levels(g, l)); }},
    {"gpu_metrics", metrics},
    {"hwmon/power1_average",
     [](const GpuConfig& g, const GpuLoad& l) {
       return line(1'000'000 * std::lround(power_w(g, l)));
     }},
    {"hwmon/temp1_input",
     [](const GpuConfig&, const GpuLoad& l) { return line(1000 * std::lround(edge_c(l))); }},
    {"hwmon/temp2_input",
     [](const GpuConfig&, const GpuLoad& l) { return line(1000 * std::lround(junction_c(l))); }},
    {"hwmon/temp3_input",
     [](const GpuConfig&, const GpuLoad& l) { return line(1000 * std::lround(memory_c(l))); }},
    {"hwmon/freq1_input",
     [](const GpuConfig& g, const GpuLoad& l) {
       return line(uint64_t{1'000'000} * current_mhz(shader_levels(g, l)));
     }},
    {"hwmon/freq2_input",
     [](const GpuConfig& g, const GpuLoad& l) {
       return line(uint64_t{1'000'000} * current_mhz(memory_levels(g, l)));
     }},
    {"hwmon/in0_input",
     [](const GpuConfig&, const GpuLoad& l) { return line(std::lround(720 + 200 * l.busy)); }},
};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kLive)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kLive[i].name;
  return names;
}();

}  // namespace

std::span<const std::string_view> live_files() { return kNames; }

std::string live_text(std::string_view name, const GpuConfig& gpu, const GpuLoad& load) {
  for (const LiveFile& file : kLive) {
    if (file.name == name) return file.text(gpu, load);
  }
  return {};
}

}  // namespace softgpu
