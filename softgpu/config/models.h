// Models: the GPUs that softgpu knows, as a table of data sheet values. Used to fill what a user
// leaves out of a GpuConfig, and by the tree, which shows the parts a user cannot set.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"
#include "config/config.h"

namespace softgpu {

struct Model {
  std::string_view gfx;      // "gfx90a", what a user asks for
  std::string_view asic;     // the kernel driver's name of the chip
  std::string_view name;     // marketing name; libdrm's table has it for device_id and revision
  uint32_t gfx_version = 0;  // major * 10000 + minor * 100 + step
  uint32_t device_id = 0, revision = 0;
  uint32_t compute_units = 0;
  uint32_t shader_engines = 0, arrays_per_engine = 1, units_per_array = 0;
  uint32_t simds_per_unit = 4, waves_per_simd = 10, wave_size = 64;
  uint32_t accelerator_dies = 1;  // that share the compute units: KFD's num_xcc
  uint32_t shader_clock_mhz = 0, memory_clock_mhz = 0;
  uint64_t vram_gib = 0;
  uint32_t memory_width_bits = 0;
  uint32_t l2_kib = 0, l3_kib = 0;
  uint32_t sdma_engines = 2, xgmi_sdma_engines = 0;
  uint32_t power_cap_w = 0;
  bool ecc = false;   // error-correcting memory, "sramecc+" in the target's name
  bool xgmi = false;  // GPUs of this model are joined by XGMI
  uint32_t drm_family = 0;
  std::string_view first_runtime = "5.2";  // ROCm that knows it, this one or an older
};

std::span<const Model> all_models();
// Null if there is none of this name.
const Model* find_model(std::string_view gfx);
// The model of a finished GpuConfig; it is always there.
const Model& model_of(const GpuConfig& gpu);

// A GPU with its model's values. Its PCI address is still to be assigned.
sonde::Result<GpuConfig> make_gpu(std::string_view gfx);
// Gives each GPU without a PCI address one of its own, in order.
void assign_pci_addresses(std::span<GpuConfig> gpus);

}  // namespace softgpu
