// The large parts of the tree.
#pragma once

#include "config/config.h"
#include "tree/writer.h"

namespace softgpu {

// /sys/devices/virtual/kfd: the CPU, the GPUs and the links between them, in KFD's layout.
void write_topology(TreeWriter& tree, const Config& config);
// The processors' caches, for those of which the machine's kernel tells none, as in some virtual
// machines: ROCm 5 finds no GPU without. All processors share one description. `machine`: kSystem,
// or a copy of it.
void write_cpu_caches(TreeWriter& tree, const std::string& machine);
// One GPU's PCI folder, and the links from DRM, hwmon and the PCI bus to it.
void write_pci_device(TreeWriter& tree, const Config& config, uint32_t gpu);

}  // namespace softgpu
