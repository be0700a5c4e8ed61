#include "tree/tree.h"

#include <fstream>
#include <iterator>

#include "config/config_json.h"
#include "tree/layout.h"
#include "tree/parts.h"

namespace softgpu {
namespace {

void write_devices(TreeWriter& tree, const Config& config) {
  tree.file("/dev/kfd", "");
  tree.folder("/dev/dri");
  tree.folder("/dev/shm");
  for (uint32_t gpu = 0; gpu < config.gpus.size(); ++gpu) {
    const std::string card = "card" + std::to_string(gpu);
    const std::string render = "renderD" + std::to_string(kFirstRenderMinor + gpu);
    const std::string address = pci_address(config.gpus[gpu]);
    tree.file("/dev/dri/" + card, "");
    tree.file("/dev/dri/" + render, "");
    tree.link("/dev/dri/by-path/pci-" + address + "-card", "../" + card);
    tree.link("/dev/dri/by-path/pci-" + address + "-render", "../" + render);
  }
}

// The machine's own modules stay listed.
std::string module_list() {
  std::ifstream file("/proc/modules");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return text + "amdgpu 9000000 1 - Live 0x0000000000000000\n";
}

void write_modules(TreeWriter& tree) {
  tree.file("/sys/module/amdgpu/initstate", "live\n");
  tree.file("/sys/module/amdgpu/version", "5.16.9.22.20\n");
  tree.folder("/sys/module/amdgpu/holders");  // without it libkmod, in rocminfo, complains
  tree.file("/proc/modules", module_list());
  tree.folder("/sys/class/drm");
  tree.folder("/sys/class/hwmon");
  tree.link("/sys/class/kfd/kfd", "../../devices/virtual/kfd/kfd");
}

}  // namespace

sonde::Status write_tree(const Config& config, const std::string& root) {
  TreeWriter tree(root);
  Config stored = config;
  stored.tree = root;
  tree.file(std::string(kConfigFile), config_text(stored));
  write_devices(tree, config);
  write_modules(tree);
  write_topology(tree, config);
  write_cpu_caches(tree, std::string(kSystem));
  for (uint32_t gpu = 0; gpu < config.gpus.size(); ++gpu) write_pci_device(tree, config, gpu);
  return tree.status();
}

}  // namespace softgpu
