// Models: the GPUs that softgpu knows, as a table of data sheet values. Used to fill in what a user
// leaves out of a GpuConfig, and by the tree, which shows the parts that a user cannot set.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "config/config.h"

namespace softgpu {

struct Family {
  uint32_t drm;  // AMDGPU_FAMILY_*
  uint32_t arrays_per_engine, simds_per_unit, waves_per_simd, wave_size;
};

struct Model {
  std::string_view gfx;   // "gfx90a", what a user asks for
  std::string_view asic;  // the kernel driver's name of the chip
  std::string_view name;  // marketing name; libdrm has it for device_id and revision
  uint32_t device_id, revision;
  Family family;
  uint32_t compute_units, shader_engines, units_per_array;
  uint32_t accelerator_dies;  // that share the compute units: KFD's num_xcc
  uint32_t shader_clock_mhz, memory_clock_mhz;
  uint64_t vram_gib;
  uint32_t memory_width_bits;
  uint32_t l2_kib, l3_kib;
  uint32_t xgmi_sdma_engines;
  uint32_t power_cap_w;
  bool ecc;                        // ECC memory, "sramecc+" in the target's name
  bool xgmi;                       // GPUs of this model are connected by XGMI
  std::string_view first_runtime;  // the first ROCm version that supports it, or an older one
};

std::span<const Model> all_models();
// major * 10000 + minor * 100 + step; minor and step are hexadecimal digits in the name: 90010 is
// "gfx90a".
uint32_t gfx_version_of(const Model& model);
// Null if there is none with this name.
const Model* find_model(std::string_view gfx);
// The model of a finished GpuConfig; it always exists.
const Model& model_of(const GpuConfig& gpu);

// A GPU with its model's values. Its PCI address is not assigned yet.
sonde::Result<GpuConfig> make_gpu(std::string_view gfx);

}  // namespace softgpu
