// The two large parts of the tree.
#pragma once

#include "config/config.h"
#include "tree/writer.h"

namespace softgpu {

// /sys/devices/virtual/kfd: the CPU, the GPUs and the links between them, in KFD's layout.
void write_topology(TreeWriter& tree, const Config& config);
// One GPU's PCI folder, and the links from DRM, hwmon and the PCI bus to it.
void write_pci_device(TreeWriter& tree, const Config& config, uint32_t gpu);

}  // namespace softgpu
