#include <cstdio>

#include "config/models.h"
#include "tree/layout.h"
#include "tree/live.h"
#include "tree/parts.h"

namespace softgpu {
namespace {

std::string hex(uint64_t value, int digits, const char* prefix = "0x") {
  char text[32];
  std::snprintf(text, sizeof text, "%s%0*llx", prefix, digits,
                static_cast<unsigned long long>(value));
  return text;
}

void write_identity(TreeWriter& tree, const std::string& folder, const GpuConfig& own,
                    uint32_t gpu) {
  const std::string device = hex(own.device_id, 4);
  char uevent[160];
  std::snprintf(uevent, sizeof uevent,
                "DRIVER=amdgpu\nPCI_CLASS=38000\nPCI_ID=1002:%04X\nPCI_SUBSYS_ID=1002:0B0C\n"
                "PCI_SLOT_NAME=%s\n",
                own.device_id, pci_address(own).c_str());
  const std::pair<const char*, std::string> files[] = {
      {"class", "0x038000"},
      {"vendor", "0x1002"},
      {"device", device},
      {"subsystem_vendor", "0x1002"},
      {"subsystem_device", "0x0b0c"},
      {"revision", hex(own.revision, 2)},
      {"unique_id", hex(unique_id(gpu), 16, "")},
      {"product_name", own.name},
      {"product_number", "softgpu-" + own.model},
      {"serial_number", hex(unique_id(gpu), 16, "")},
      {"vbios_version", "113-SOFTGPU-001"},
      {"numa_node", "-1"},
      {"current_link_speed", "16.0 GT/s PCIe"},
      {"current_link_width", "16"},
      {"max_link_speed", "16.0 GT/s PCIe"},
      {"max_link_width", "16"},
      {"pcie_bw", "0 0 256"},
      {"pcie_replay_count", "0"},
      {"mem_info_vram_vendor", "hynix"},
      {"mem_info_vram_total", std::to_string(own.vram_bytes)},
      {"mem_info_vis_vram_total",
       std::to_string(own.large_bar ? own.vram_bytes : uint64_t{256} << 20)},
      {"mem_info_gtt_total", std::to_string(own.vram_bytes)},
      {"power_dpm_state", "performance"},
      {"power_dpm_force_performance_level", "auto"},
      {"pp_dpm_fclk", "0: 400Mhz *\n1: 1600Mhz"},
      {"pp_dpm_socclk", "0: 666Mhz *\n1: 1000Mhz"},
      {"pp_dpm_pcie", "0: 16.0GT/s, x16 619Mhz *"},
      {"pp_power_profile_mode",
       "NUM        MODE_NAME BUSY_SET_POINT FPS USE_RLC_BUSY MIN_ACTIVE_LEVEL\n"
       "  0   BOOTUP_DEFAULT*:             70  60          0              0\n"
       "  5          COMPUTE :             70  60          1              0"},
  };
  for (const auto& [name, text] : files) tree.file(folder + "/" + name, text + "\n");
  tree.file(folder + "/uevent", uevent);
}

void write_firmware(TreeWriter& tree, const std::string& folder, const Model& model) {
  for (const char* name : {"asd", "ce",       "mc",       "me",       "mec",  "mec2",  "pfp",
                           "rlc", "rlc_srlc", "rlc_srlg", "rlc_srls", "sdma", "sdma2", "smc",
                           "sos", "ta_ras",   "ta_xgmi",  "uvd",      "vce",  "vcn"}) {
    tree.file(folder + "/fw_version/" + name + "_fw_version", "0x00000043\n");
  }
  if (!model.ecc) return;
  tree.file(folder + "/ras/features", "feature mask: 0x5\n");
  for (const char* block : {"umc", "sdma", "gfx"}) {
    tree.file(folder + "/ras/" + block + "_err_count", "ue: 0\nce: 0\n");
  }
}

void write_hwmon(TreeWriter& tree, const std::string& folder, const Model& model) {
  const std::string cap = std::to_string(model.power_cap_w) + "000000";
  const std::pair<const char*, std::string> files[] = {
      {"name", "amdgpu"},          {"pwm1", "0"},
      {"pwm1_max", "255"},         {"pwm1_enable", "2"},
      {"fan1_input", "0"},         {"power1_cap", cap},
      {"power1_cap_max", cap},     {"power1_cap_default", cap},
      {"power1_cap_min", "0"},     {"temp1_label", "edge"},
      {"temp2_label", "junction"}, {"temp3_label", "mem"},
      {"temp1_crit", "100000"},    {"temp2_crit", "110000"},
      {"temp3_crit", "94000"},     {"in0_label", "vddgfx"},
      {"freq1_label", "sclk"},     {"freq2_label", "mclk"},
  };
  for (const auto& [name, text] : files) tree.file(folder + "/" + name, text + "\n");
}

void write_links(TreeWriter& tree, const GpuConfig& own, uint32_t gpu) {
  const std::string folder = pci_folder(own), address = pci_address(own);
  const std::string upward = "../../devices/pci0000:c0/" + address;
  const uint32_t minors[] = {gpu, kFirstRenderMinor + gpu};
  const std::string names[] = {"card" + std::to_string(gpu),
                               "renderD" + std::to_string(kFirstRenderMinor + gpu)};
  for (int i = 0; i < 2; ++i) {
    const std::string number = "226:" + std::to_string(minors[i]);
    tree.file(folder + "/drm/" + names[i] + "/dev", number + "\n");
    tree.link(folder + "/drm/" + names[i] + "/device", "../..");
    tree.link("/sys/class/drm/" + names[i], upward + "/drm/" + names[i]);
    tree.link("/sys/dev/char/" + number, upward + "/drm/" + names[i]);
    tree.file("/sys/kernel/debug/dri/" + std::to_string(minors[i]) + "/name",
              "amdgpu dev=" + address + " unique=" + address + "\n");
  }
  tree.link("/sys/class/hwmon/" + hwmon_name(gpu), upward + "/hwmon/" + hwmon_name(gpu));
  tree.link(folder + "/hwmon/" + hwmon_name(gpu) + "/device", "../..");
  tree.link(folder + "/subsystem", "../../../bus/pci");
  tree.link(folder + "/driver", "../../../bus/pci/drivers/amdgpu");
  tree.link("/sys/bus/pci/devices/" + address, "../../../devices/pci0000:c0/" + address);
  tree.link("/sys/bus/pci/drivers/amdgpu/" + address, "../../../../devices/pci0000:c0/" + address);
}

}  // namespace

void write_pci_device(TreeWriter& tree, const Config& config, uint32_t gpu) {
  const GpuConfig& own = config.gpus[gpu];
  const Model& model = model_of(own);
  const std::string folder = pci_folder(own), hwmon = folder + "/hwmon/" + hwmon_name(gpu);
  write_identity(tree, folder, own, gpu);
  write_firmware(tree, folder, model);
  write_hwmon(tree, hwmon, model);
  write_links(tree, own, gpu);
  constexpr std::string_view kHwmon = "hwmon/";
  for (std::string_view name : live_files()) {
    const std::string text = live_text(name, own, GpuLoad());
    if (name.starts_with(kHwmon)) {
      tree.file(hwmon + "/" + std::string(name.substr(kHwmon.size())), text);
    } else {
      tree.file(folder + "/" + std::string(name), text);
    }
  }
}

}  // namespace softgpu
