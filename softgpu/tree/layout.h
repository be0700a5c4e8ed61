// Layout: where each GPU is in /sys and /dev, and its numbers there. Used by the code that writes
// the tree and by the driver that emulates it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace softgpu {

struct Model;

constexpr uint32_t kFirstRenderMinor = 128;
constexpr std::string_view kTopology = "/sys/devices/virtual/kfd/kfd/topology";
constexpr std::string_view kProcesses = "/sys/devices/virtual/kfd/kfd/proc";
constexpr std::string_view kPciRoot = "/sys/devices/pci0000:c0";
constexpr std::string_view kSystem = "/sys/devices/system";
constexpr std::string_view kConfigFile = "/softgpu.json";  // at the top of the tree
constexpr std::string_view kShares = "/shared";            // see buffers.h
constexpr std::string_view kSessionFile = "/session";      // see session.h

// KFD's ID of a GPU; `gpu` counts from 0. Node 0 of the topology is the CPU.
constexpr uint32_t gpu_id(uint32_t gpu) { return 0x1033 + gpu * 7; }
constexpr std::optional<uint32_t> gpu_of_id(uint32_t id, size_t gpus) {
  for (uint32_t gpu = 0; gpu < gpus; ++gpu) {
    if (gpu_id(gpu) == id) return gpu;
  }
  return std::nullopt;
}
constexpr uint64_t unique_id(uint32_t gpu) { return 0x1234567890abcdef + gpu; }

constexpr uint32_t kFirmwareVersion = 67;
// KFD's capability bits of a GPU of this model, and how its debug watches work.
uint32_t kfd_capability(const Model& model);
uint32_t kfd_debug_properties(const Model& model);

std::string pci_address(const GpuConfig& gpu);  // "0000:c5:00.0"
std::string pci_folder(const GpuConfig& gpu);   // "/sys/devices/pci0000:c0/0000:c5:00.0"
std::string hwmon_name(uint32_t gpu);           // "hwmon0"

// Whether a path belongs to the tree rather than to the machine. `may_be_machines` is set if the
// machine has such a folder too and its other entries stay visible: there the tree's file is used
// only if it exists.
bool in_tree(std::string_view path, bool& may_be_machines);

}  // namespace softgpu
