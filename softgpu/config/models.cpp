#include "config/models.h"

#include "base/check.h"

namespace softgpu {
namespace {

constexpr Family kGcn = {141, 1, 4, 10, 64};
constexpr Family kCdna2 = {141, 1, 4, 8, 64};
constexpr Family kRdna1 = {143, 2, 2, 20, 32};
constexpr Family kRdna2 = {143, 2, 2, 16, 32};
constexpr Family kRdna3 = {145, 2, 2, 16, 32};

// clang-format off
constexpr Model kModels[] = {
    // gfx, asic, name, PCI device and revision, family;
    // units: all, engines, of an array, dies
    //                 MHz: shader, memory
    //                             GiB, bits   KiB: L2, L3  XGMI    W    ECC   XGMI   first ROCm
    {"gfx900", "vega10", "AMD Radeon Instinct MI25", 0x6860, 0x00, kGcn,
      64,  4, 16, 1,  1500,  945,   16, 2048,  4096,      0,   0,  220,  false, false, "5.2"},
    {"gfx906", "vega20", "AMD Instinct MI60 / MI50", 0x66a1, 0x02, kGcn,
      60,  4, 16, 1,  1725, 1000,   16, 4096,  4096,      0,   0,  225,   true,  true, "5.2"},
    {"gfx908", "arcturus", "AMD Instinct MI100", 0x738c, 0x01, kGcn,
     120,  8, 16, 1,  1502, 1200,   32, 4096,  8192,      0,   6,  290,   true,  true, "5.2"},
    {"gfx90a", "aldebaran", "AMD Instinct MI250X", 0x7408, 0x00, kCdna2,
     110,  8, 14, 1,  1700, 1600,   64, 4096,  8192,      0,   3,  560,   true,  true, "5.2"},
    {"gfx942", "ip discovery", "AMD Instinct MI300X", 0x74a1, 0x00, kCdna2,
     304, 32, 10, 8,  2100, 1300,  192, 8192,  4096, 262144,  14,  750,   true,  true, "6.0"},
    {"gfx1010", "navi10", "AMD Radeon RX 5700 XT", 0x731f, 0xc1, kRdna1,
      40,  2, 10, 1,  1905,  875,    8,  256,  4096,      0,   0,  225,  false, false, "5.2"},
    {"gfx1030", "sienna_cichlid", "AMD Radeon RX 6900 XT", 0x73bf, 0xc0, kRdna2,
      80,  4, 10, 1,  2250, 1000,   16,  256,  4096,      0,   0,  255,  false, false, "5.2"},
    {"gfx1031", "navy_flounder", "AMD Radeon RX 6700 XT", 0x73df, 0xc1, kRdna2,
      40,  2, 10, 1,  2581, 1000,   12,  192,  3072,      0,   0,  186,  false, false, "5.2"},
    {"gfx1100", "ip discovery", "AMD Radeon RX 7900 XTX", 0x744c, 0xc8, kRdna3,
      96,  6,  8, 1,  2371, 1249,   24,  384,  6144,  98304,   0,  327,  false, false, "5.4"},
};
// clang-format on

}  // namespace

std::span<const Model> all_models() { return kModels; }

uint32_t gfx_version_of(const Model& model) {
  const auto digit = [](char c) {
    return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  };
  uint32_t major = 0;
  for (const char c : model.gfx.substr(3, model.gfx.size() - 5)) major = major * 10 + digit(c);
  return major * 10000 + digit(*(model.gfx.end() - 2)) * 100 + digit(model.gfx.back());
}

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
  gpu.gfx_version = gfx_version_of(*model);
  gpu.device_id = model->device_id;
  gpu.revision = model->revision;
  gpu.compute_units = model->compute_units;
  gpu.vram_bytes = model->vram_gib << 30;
  gpu.shader_clock_mhz = model->shader_clock_mhz;
  gpu.memory_clock_mhz = model->memory_clock_mhz;
  // An arbitrary value unlike any CPU clock, so that no test confuses the two by accident.
  gpu.clock.offset_ticks = 0x1234567;
  return gpu;
}

}  // namespace softgpu
