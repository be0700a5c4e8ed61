#include "config/models.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace softgpu {
namespace {

constexpr uint32_t kFamilyAi = 141, kFamilyNv = 143, kFamilyGc11 = 145;  // AMDGPU_FAMILY_*
constexpr uint32_t kFirstBus = 0xc5;

constexpr Model kModels[] = {
    {.gfx = "gfx900",
     .asic = "vega10",
     .name = "AMD Radeon Instinct MI25",
     .gfx_version = 90000,
     .device_id = 0x6860,
     .revision = 0x00,
     .compute_units = 64,
     .shader_engines = 4,
     .units_per_array = 16,
     .shader_clock_mhz = 1500,
     .memory_clock_mhz = 945,
     .vram_gib = 16,
     .memory_width_bits = 2048,
     .l2_kib = 4096,
     .power_cap_w = 220,
     .drm_family = kFamilyAi},
    {.gfx = "gfx906",
     .asic = "vega20",
     .name = "AMD Instinct MI60 / MI50",
     .gfx_version = 90006,
     .device_id = 0x66a1,
     .revision = 0x02,
     .compute_units = 60,
     .shader_engines = 4,
     .units_per_array = 16,
     .shader_clock_mhz = 1725,
     .memory_clock_mhz = 1000,
     .vram_gib = 16,
     .memory_width_bits = 4096,
     .l2_kib = 4096,
     .power_cap_w = 225,
     .ecc = true,
     .xgmi = true,
     .drm_family = kFamilyAi},
    {.gfx = "gfx908",
     .asic = "arcturus",
     .name = "AMD Instinct MI100",
     .gfx_version = 90008,
     .device_id = 0x738c,
     .revision = 0x01,
     .compute_units = 120,
     .shader_engines = 8,
     .units_per_array = 16,
     .shader_clock_mhz = 1502,
     .memory_clock_mhz = 1200,
     .vram_gib = 32,
     .memory_width_bits = 4096,
     .l2_kib = 8192,
     .xgmi_sdma_engines = 6,
     .power_cap_w = 290,
     .ecc = true,
     .xgmi = true,
     .drm_family = kFamilyAi},
    {.gfx = "gfx90a",
     .asic = "aldebaran",
     .name = "AMD Instinct MI250X",
     .gfx_version = 90010,
     .device_id = 0x7408,
     .revision = 0x00,
     .compute_units = 110,
     .shader_engines = 8,
     .units_per_array = 14,
     .waves_per_simd = 8,
     .shader_clock_mhz = 1700,
     .memory_clock_mhz = 1600,
     .vram_gib = 64,
     .memory_width_bits = 4096,
     .l2_kib = 8192,
     .xgmi_sdma_engines = 3,
     .power_cap_w = 560,
     .ecc = true,
     .xgmi = true,
     .drm_family = kFamilyAi},
    {.gfx = "gfx942",
     .asic = "ip discovery",
     .name = "AMD Instinct MI300X",
     .gfx_version = 90402,
     .device_id = 0x74a1,
     .revision = 0x00,
     .compute_units = 304,
     .shader_engines = 32,
     .units_per_array = 10,
     .waves_per_simd = 8,
     .accelerator_dies = 8,
     .shader_clock_mhz = 2100,
     .memory_clock_mhz = 1300,
     .vram_gib = 192,
     .memory_width_bits = 8192,
     .l2_kib = 4096,
     .l3_kib = 262144,
     .xgmi_sdma_engines = 14,
     .power_cap_w = 750,
     .ecc = true,
     .xgmi = true,
     .drm_family = kFamilyAi,
     .first_runtime = "6.0"},
    {.gfx = "gfx1010",
     .asic = "navi10",
     .name = "AMD Radeon RX 5700 XT",
     .gfx_version = 100100,
     .device_id = 0x731f,
     .revision = 0xc1,
     .compute_units = 40,
     .shader_engines = 2,
     .arrays_per_engine = 2,
     .units_per_array = 10,
     .simds_per_unit = 2,
     .waves_per_simd = 20,
     .wave_size = 32,
     .shader_clock_mhz = 1905,
     .memory_clock_mhz = 875,
     .vram_gib = 8,
     .memory_width_bits = 256,
     .l2_kib = 4096,
     .power_cap_w = 225,
     .drm_family = kFamilyNv},
    {.gfx = "gfx1030",
     .asic = "sienna_cichlid",
     .name = "AMD Radeon RX 6900 XT",
     .gfx_version = 100300,
     .device_id = 0x73bf,
     .revision = 0xc0,
     .compute_units = 80,
     .shader_engines = 4,
     .arrays_per_engine = 2,
     .units_per_array = 10,
     .simds_per_unit = 2,
     .waves_per_simd = 16,
     .wave_size = 32,
     .shader_clock_mhz = 2250,
     .memory_clock_mhz = 1000,
     .vram_gib = 16,
     .memory_width_bits = 256,
     .l2_kib = 4096,
     .power_cap_w = 255,
     .drm_family = kFamilyNv},
    {.gfx = "gfx1031",
     .asic = "navy_flounder",
     .name = "AMD Radeon RX 6700 XT",
     .gfx_version = 100301,
     .device_id = 0x73df,
     .revision = 0xc1,
     .compute_units = 40,
     .shader_engines = 2,
     .arrays_per_engine = 2,
     .units_per_array = 10,
     .simds_per_unit = 2,
     .waves_per_simd = 16,
     .wave_size = 32,
     .shader_clock_mhz = 2581,
     .memory_clock_mhz = 1000,
     .vram_gib = 12,
     .memory_width_bits = 192,
     .l2_kib = 3072,
     .power_cap_w = 186,
     .drm_family = kFamilyNv},
    {.gfx = "gfx1100",
     .asic = "ip discovery",
     .name = "AMD Radeon RX 7900 XTX",
     .gfx_version = 110000,
     .device_id = 0x744c,
     .revision = 0xc8,
     .compute_units = 96,
     .shader_engines = 6,
     .arrays_per_engine = 2,
     .units_per_array = 8,
     .simds_per_unit = 2,
     .waves_per_simd = 16,
     .wave_size = 32,
     .shader_clock_mhz = 2371,
     .memory_clock_mhz = 1249,
     .vram_gib = 24,
     .memory_width_bits = 384,
     .l2_kib = 6144,
     .l3_kib = 98304,
     .power_cap_w = 327,
     .drm_family = kFamilyGc11,
     .first_runtime = "5.4"},
};

}  // namespace

std::span<const Model> all_models() { return kModels; }

const Model* find_model(std::string_view gfx) {
  for (const Model& model : kModels) {
    if (model.gfx == gfx) return &model;
  }
  return nullptr;
}

const Model& model_of(const GpuConfig& gpu) {
  const Model* model = find_model(gpu.model);
  SONDE_CHECK(model != nullptr);
  return *model;
}

sonde::Result<GpuConfig> make_gpu(std::string_view gfx) {
  const Model* model = find_model(gfx);
  if (model == nullptr) {
    std::string known;
    for (const Model& each : kModels) known += (known.empty() ? "" : ", ") + std::string(each.gfx);
    return sonde::make_error(sonde::ErrorCode::kInvalidArgument,
                             "unknown GPU model '" + std::string(gfx) + "'", {}, "known: " + known);
  }
  GpuConfig gpu;
  gpu.model = model->gfx;
  gpu.name = model->name;
  gpu.gfx_version = model->gfx_version;
  gpu.device_id = model->device_id;
  gpu.revision = model->revision;
  gpu.compute_units = model->compute_units;
  gpu.vram_bytes = model->vram_gib << 30;
  gpu.shader_clock_mhz = model->shader_clock_mhz;
  gpu.memory_clock_mhz = model->memory_clock_mhz;
  // Of no meaning, but unlike any CPU clock: nobody takes one for the other by accident.
  gpu.clock.offset_ticks = 0x1234567;
  return gpu;
}

void assign_pci_addresses(std::span<GpuConfig> gpus) {
  std::set<std::pair<uint32_t, uint32_t>> taken;
  for (const GpuConfig& gpu : gpus) taken.emplace(gpu.pci_domain, gpu.pci_bus);
  uint32_t bus = kFirstBus;
  for (GpuConfig& gpu : gpus) {
    if (gpu.pci_bus != 0) continue;
    while (taken.contains({gpu.pci_domain, bus})) ++bus;
    gpu.pci_bus = bus;
    taken.emplace(gpu.pci_domain, bus);
  }
}

}  // namespace softgpu
