#include "cli/smi_sections.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/letters.h"
#include "base/strings.h"
#include "monitor/kept_file.h"

namespace sonde::cli {

void Smi::ids() {
  out_.section("ID");
  for (const Chosen& each : chosen_) {
    if (style_ == SmiStyle::kFive) {
      out_.log(each.number, "GPU ID", known(each.device->text("device")));
      continue;
    }
    const auto put = [&](const char* name, const char* gap, const std::string& value) {
      out_.log(each.number, name, (out_.is_text() ? gap : "") + value);
    };
    put("Device Name", "\t\t", each.device->market_name());
    put("Device ID", "\t\t", known(each.device->text("device")));
    put("Device Rev", "\t\t", known(each.device->text("revision")));
    put("Subsystem ID", "\t", known(each.device->text("subsystem_device")));
    put("GUID", "\t\t", std::to_string(each.device->card().kfd_id));
  }
}

void Smi::unique_ids() {
  out_.section("Unique ID");
  for (const Chosen& each : chosen_) {
    const auto id = each.device->text("unique_id");
    out_.log(each.number, "Unique ID", id ? "0x" + *id : known(id));
  }
}

void Smi::vbios() {
  out_.section("VBIOS");
  for (const Chosen& each : chosen_) {
    out_.log(each.number, "VBIOS version", known(each.device->text("vbios_version")));
  }
}

void Smi::temperatures() {
  out_.section("Temperature");
  for (const Chosen& each : chosen_) {
    const auto put = [&](const std::string& sensor, std::optional<int64_t> value) {
      if (!value && style_ != SmiStyle::kFive) return;
      out_.log(each.number, "Temperature (Sensor " + sensor + ") (C)", divided(value, 1000));
    };
    put("edge", each.device->temperature("edge"));
    put("junction", each.device->temperature("junction"));
    put("memory", each.device->temperature("mem"));
    for (int i = 0; i < 4; ++i) put(fmt::format("HBM {}", i), each.device->hbm_temperature(i));
  }
}

void Smi::clocks() {
  out_.section("Current clock frequencies");
  for (const Chosen& each : chosen_) {
    for (const std::string name : {"dcefclk", "fclk", "mclk", "sclk", "socclk"}) {
      const auto clock = each.device->clock(name);
      if (!clock) continue;
      const std::string mhz = fmt::format("({:.0f}Mhz)", clock->mhz);
      if (out_.is_text()) {
        out_.log(each.number, fmt::format("{} clock level: {}", name, clock->level), mhz);
      } else {
        out_.log(each.number, name + " clock speed:", mhz);
        out_.log(each.number, name + " clock level:", std::to_string(clock->level));
      }
    }
    // "0: 16.0GT/s, x16 619Mhz *"
    const auto pcie = each.device->clock("pcie");
    const std::string levels = each.device->text("pp_dpm_pcie").value_or("");
    for (const std::string_view line : split(levels, '\n')) {
      const size_t lanes = line.find(", x");
      if (!pcie || line.find('*') == line.npos || lanes == line.npos) continue;
      out_.log(each.number, "pcie clock level",
               fmt::format("{} ({:.1f}GT/s x{})", pcie->level, pcie->mhz,
                           monitor::leading_number(line.substr(lanes + 3))));
    }
  }
}

void Smi::shader_clocks() {
  out_.section("Current clock frequencies");
  for (const Chosen& each : chosen_) {
    const auto clock = each.device->clock("sclk");
    if (!clock) {
      out_.missing();
      continue;
    }
    out_.log(each.number, "sclk clock level",
             fmt::format("{} ({:.0f}Mhz)", clock->level, clock->mhz));
  }
}

void Smi::fans() {
  out_.section("Current Fan Metric");
  for (const Chosen& each : chosen_) {
    const auto [level, share] = each.device->fan();
    if (style_ != SmiStyle::kFive && !each.device->sensor("pwm1")) {
      out_.log(each.number, "Not supported");
      continue;
    }
    const auto percent = static_cast<int64_t>(std::nearbyint(share));
    if (level == 0 || percent == 0) {
      out_.log(each.number, fmt::format("Unable to detect fan speed for GPU {}", each.number));
      continue;
    }
    if (out_.is_text()) {
      out_.log(each.number, "Fan Level", fmt::format("{} ({}%)", level, percent));
    } else {
      out_.log(each.number, "Fan speed (level)", std::to_string(level));
      out_.log(each.number, "Fan speed (%)", std::to_string(percent));
    }
    const auto rpm = each.device->sensor("fan1_input");
    if (rpm) out_.log(each.number, "Fan RPM", std::to_string(*rpm));
    if (!rpm) out_.missing();
  }
}

void Smi::levels() {
  out_.section("Show Performance Level");
  for (const Chosen& each : chosen_) {
    const std::string level = each.device->performance_level();
    if (!level.empty()) {
      out_.log(each.number, "Performance Level", level);
    } else if (style_ == SmiStyle::kFive) {
      out_.log(each.number, "Performance Level Unsupported");
      out_.missing();
    } else {
      for (int asked = 0; asked < 2; ++asked) absent(each.number, "get_perf_level");
      out_.log(each.number, "Performance Level", "n/a");
    }
  }
}

void Smi::max_powers() {
  out_.section("Power Cap");
  for (const Chosen& each : chosen_) {
    const auto cap = cap_w(*each.device);
    if (cap) {
      out_.log(each.number, "Max Graphics Package Power (W)", python_float(*cap));
    } else {
      absent(each.number, "get_power_cap");
      out_.log(each.number, "Max Graphics Package Power Unsupported");
    }
  }
}

void Smi::log_or_absent(const Chosen& each, const char* name, const std::optional<int64_t>& value,
                        const char* asked) {
  if (value) out_.log(each.number, name, std::to_string(*value));
  if (!value) absent(each.number, asked);
}

void Smi::powers() {
  out_.section("Power Consumption");
  bool second = false;
  for (const Chosen& each : chosen_) {
    const SmiPower power = each.device->power(style_ != SmiStyle::kFive);
    const std::string name = fmt::format("{} Graphics Package Power (W)",
                                         power.is_current ? "Current Socket" : "Average");
    if (style_ != SmiStyle::kFive && !power.uw && !each.device->is_second_die()) {
      out_.missing();
      continue;
    }
    if (each.device->is_second_die()) {
      out_.log(each.number, name, "N/A (Secondary die)");
      second = true;
      continue;
    }
    const std::string watts = divided(power.uw, 1e6);
    if (watts != "0.0" || style_ != SmiStyle::kFive) out_.log(each.number, name, watts);
  }
  if (!second) return;
  out_.line(
      "\n\t\tPrimary die (usually one above or below the secondary) shows total "
      "(primary + secondary) socket power information");
}

void Smi::use() {
  out_.section("% time GPU is busy");
  for (const Chosen& each : chosen_) {
    const auto busy = each.device->number("gpu_busy_percent");
    if (busy) out_.log(each.number, "GPU use (%)", std::to_string(*busy));
    if (!busy) {
      absent(each.number, "GPU Utilization ");
      out_.log(each.number, "GPU use Unsupported");
    }
    const auto ticks = each.device->table_number("gfx_activity_acc");
    if (ticks || style_ == SmiStyle::kFive) out_.log(each.number, "GFX Activity", known(ticks));
  }
}

void Smi::memory_use() {
  out_.section("Current Memory Use");
  for (const Chosen& each : chosen_) {
    const auto busy = each.device->number("mem_busy_percent");
    const bool five = style_ == SmiStyle::kFive;
    if (!five) {
      const auto share = each.device->vram_percent();
      out_.log(each.number, "GPU Memory Allocated (VRAM%)",
               share ? fmt::format("{:.0f}", std::floor(*share)) : "0");
    }
    log_or_absent(each, five ? "GPU memory use (%)" : "GPU Memory Read/Write Activity (%)", busy,
                  "% memory use");
    out_.log(each.number, "Memory Activity", known(each.device->table_number("mem_activity_acc")));
    if (five) continue;
    // Named so by rocm-smi; it is the activity of the media engines.
    const auto media = each.device->table_number("average_mm_activity");
    if (media) out_.log(each.number, "Avg. Memory Bandwidth", std::to_string(*media));
    if (!media) out_.log(each.number, "Not supported on the given system");
  }
}

void Smi::replays() {
  out_.section("PCIe Replay Counter");
  for (const Chosen& each : chosen_) {
    log_or_absent(each, "PCIe Replay Count", each.device->number("pcie_replay_count"),
                  "PCIe Replay Count");
  }
}

void Smi::serials() {
  out_.section("Serial Number");
  for (const Chosen& each : chosen_) {
    const auto serial = each.device->text("serial_number");
    if (!serial) absent(each.number, "get_serial_number");
    out_.log(each.number, "Serial Number", known(serial));
  }
}

void Smi::voltages() {
  out_.section("Current voltage");
  for (const Chosen& each : chosen_) {
    log_or_absent(each, "Voltage (mV)", each.device->sensor("in0_input"), "get_volt_metric");
  }
}

void Smi::buses() {
  out_.section("PCI Bus ID");
  for (const Chosen& each : chosen_) {
    out_.log(each.number, "PCI Bus", upper(each.device->card().address));
  }
}

void Smi::memory(const std::vector<std::string>& types) {
  out_.section("Memory Usage (Bytes)");
  for (const Chosen& each : chosen_) {
    for (const std::string& type : types) {
      const std::string shown = upper(type);
      const auto put = [&](const char* name, const char* file) {
        const auto value = each.device->number("mem_info_" + type + file);
        if (value) return out_.log(each.number, shown + name, std::to_string(*value));
        out_.missing();
        out_.log(each.number, shown + name);
      };
      put(" Total Memory (B)", "_total");
      put(" Total Used Memory (B)", "_used");
    }
  }
}

namespace {

std::vector<int64_t> pids_of(const std::string& sys) {
  std::vector<int64_t> pids;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(sys + "/class/kfd/kfd/proc", error)) {
    const auto pid = parse_int(entry.path().filename().string());
    if (pid) pids.push_back(*pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// KFD's numbers of the GPUs that a process has queues on.
std::set<int64_t> queues_of(const std::string& folder) {
  std::set<int64_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/queues", error)) {
    const auto id = monitor::read_file(entry.path().string() + "/gpuid");
    if (id) found.insert(monitor::leading_number(*id));
  }
  return found;
}

}  // namespace

void Smi::processes(const std::string& proc, const std::string& sys,
                    const std::vector<SmiDevice>& all) {
  out_.section("KFD Processes");
  const auto pids = pids_of(sys);
  if (pids.empty()) return out_.line("No KFD PIDs currently running");
  std::vector<std::vector<std::string>> rows = {
      {"PID", "PROCESS NAME", "GPU(s)", "VRAM USED", "SDMA USED", "CU OCCUPANCY"}};
  int64_t units = 0;
  for (const SmiDevice& device : all) {
    const auto simds = device.card().node.find("simd_count");
    const auto each = device.card().node.find("simd_per_cu");
    const bool known = simds != device.card().node.end() && each != device.card().node.end();
    if (known && each->second > 0) units += simds->second / each->second;
  }
  for (const int64_t pid : pids) {
    const std::string folder = sys + "/class/kfd/kfd/proc/" + std::to_string(pid);
    int64_t vram = 0, sdma = 0, occupied = 0;
    for (const SmiDevice& device : all) {
      const std::string id = std::to_string(device.card().kfd_id);
      const auto read = [&](const std::string& file) {
        return monitor::leading_number(monitor::read_text(folder + "/" + file));
      };
      vram += read("vram_" + id);
      sdma += read("sdma_" + id);
      occupied += read("stats_" + id + "/cu_occupancy");
    }
    const auto name = monitor::read_file(proc + "/" + std::to_string(pid) + "/comm");
    rows.push_back({std::to_string(pid), name ? std::string(trim(*name)) : "UNKNOWN",
                    std::to_string(queues_of(folder).size()), std::to_string(vram),
                    std::to_string(sdma),
                    std::to_string(units > 0 ? 100 * occupied / units : occupied)});
  }
  out_.line("KFD process information:");
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line, values;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      line += fmt::format("{:<{}}\t", rows[r][i], widths[i]);
      if (i > 0) values += (i > 1 ? ", " : "") + rows[r][i];
    }
    out_.line(line);
    if (r > 0) out_.system("PID" + rows[r][0], lower(values));
  }
}

void Smi::gpus_of_processes(const std::string& sys, std::vector<int64_t> pids,
                            const std::vector<SmiDevice>& all) {
  out_.section("GPUs Indexed by PID");
  if (pids.empty()) pids = pids_of(sys);
  if (pids.empty()) return out_.line("No KFD PIDs currently running");
  for (const int64_t pid : pids) {
    const auto used = queues_of(sys + "/class/kfd/kfd/proc/" + std::to_string(pid));
    std::string line = fmt::format("PID {} is using {} DRM device(s):\n", pid, used.size());
    if (used.empty()) {
      const bool five = style_ == SmiStyle::kFive;
      line = five ? "None" : fmt::format("PID {} is using 0 DRM device(s)", pid);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (used.count(all[i].card().kfd_id) != 0) line += std::to_string(i) + " ";
    }
    out_.line(line);
  }
}

}  // namespace sonde::cli
