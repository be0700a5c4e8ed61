// The two large parts of the tree.
#pragma once

#include "config/config.h"
#include "tree/writer.h"

namespace softgpu {

// /sys/devices/virtual/kfd: the CPU, the GPUs and the links between them, as KFD shows them.
void write_topology(TreeWriter& tree, const Config& config);
// One GPU's PCI folder, and the links by which DRM, hwmon and the PCI bus lead to it.
void write_pci_device(TreeWriter& tree, const Config& config, uint32_t gpu);

}  // namespace softgpu
