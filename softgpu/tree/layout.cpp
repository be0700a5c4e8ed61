#include "tree/layout.h"

#include <cstdio>

namespace softgpu {
namespace {

constexpr std::string_view kOurs[] = {
    "/dev/kfd",
    "/dev/dri",
    "/sys/class/kfd",
    "/sys/class/drm",
    "/sys/class/hwmon",
    "/sys/devices/virtual/kfd",
    kPciRoot,
    "/sys/dev/char/226:",
    "/sys/module/amdgpu",
    "/sys/kernel/debug/dri",
    "/proc/modules",
};
constexpr std::string_view kShared[] = {"/sys/bus/pci/devices/", "/sys/bus/pci/drivers/amdgpu"};

bool is_of_cpu_caches(std::string_view path) {
  return path.starts_with(kSystem) && path.find("/cache", kSystem.size()) != path.npos;
}

}  // namespace

std::string pci_address(const GpuConfig& gpu) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:00.0", gpu.pci_domain, gpu.pci_bus);
  return text;
}

std::string pci_folder(const GpuConfig& gpu) {
  return std::string(kPciRoot) + "/" + pci_address(gpu);
}

std::string hwmon_name(uint32_t gpu) { return "hwmon" + std::to_string(gpu); }

bool in_tree(std::string_view path, bool& may_be_machines) {
  may_be_machines = false;
  if (path.size() < 8 || path[0] != '/' || (path[1] != 's' && path[1] != 'd' && path[1] != 'p')) {
    return false;  // decides nearly all paths, without a comparison
  }
  for (std::string_view prefix : kOurs) {
    if (!path.starts_with(prefix)) continue;
    const char next = path.size() == prefix.size() ? '/' : path[prefix.size()];
    if (next == '/' || prefix.back() == ':') return true;
  }
  may_be_machines = is_of_cpu_caches(path);
  for (std::string_view prefix : kShared) may_be_machines |= path.starts_with(prefix);
  return may_be_machines;
}

}  // namespace softgpu
