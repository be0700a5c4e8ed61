#include "cli/smi_sections.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "base/strings.h"
#include "monitor/kept_file.h"

namespace sonde::cli {

namespace {

constexpr const char* kNotThere = "N/A";

// The level of the fan and its share of the most.
std::pair<int64_t, double> fan_of(const SmiDevice& device) {
  const int64_t level = device.sensor("pwm1").value_or(0);
  const int64_t most = device.sensor("pwm1_max").value_or(0);
  if (level == 0 || most == 0) return {level, 0};
  const double percent = 100.0 * static_cast<double>(level) / static_cast<double>(most);
  return {level, std::round(percent * 100) / 100};
}

}  // namespace

std::vector<std::string> Smi::concise_row(const Chosen& each) {
  const SmiDevice& device = *each.device;
  const auto clock = [&](const char* name) {
    const auto found = device.clock(name);
    return found ? fmt::format("{:.0f}Mhz", found->mhz) : std::string("None");
  };
  std::string temperature = divided(device.temperature("edge"), 1000);
  if (temperature != kNotThere) temperature += "c";
  std::string power = divided(power_uw(device), 1e6);
  power = power == "0.0" || power == kNotThere ? kNotThere : power + "W";
  const double fan = fan_of(device).second;
  const std::string level = device.performance_level();
  const auto cap = device.sensor("power1_cap");
  const auto used = device.number("mem_info_vram_used"),
             total = device.number("mem_info_vram_total");
  const auto busy = device.number("gpu_busy_percent");
  if (level.empty() || !cap || !used || !total || !busy) out_.missing();
  std::string memory = kNotThere;
  if (used && total && *total > 0) {
    char text[32];
    std::snprintf(text, sizeof text, "% 3.0f%%",
                  100 * (static_cast<double>(*used) / static_cast<double>(*total)));
    memory = text;
  }
  return {std::to_string(each.number),
          temperature,
          power,
          clock("sclk"),
          clock("mclk"),
          (fan == 0 ? "0" : python_float(fan)) + "%",
          level.empty() ? "unsupported" : level,
          cap ? python_float(static_cast<double>(*cap) / 1e6) + "W" : "Unsupported",
          memory,
          busy ? std::to_string(*busy) + "%" : "Unsupported"};
}

void Smi::concise() {
  out_.section("Concise Info");
  std::vector<std::vector<std::string>> rows = {
      {"GPU", "Temp", "AvgPwr", "SCLK", "MCLK", "Fan", "Perf", "PwrCap", "VRAM%", "GPU%"}};
  for (const Chosen& each : chosen_) rows.push_back(concise_row(each));
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size() + 2);
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}", row[i], widths[i]);
    out_.line(line);
  }
}

void Smi::ids() {
  out_.section("ID");
  for (const Chosen& each : chosen_) {
    out_.log(each.number, "GPU ID", known(each.device->text("device")));
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
    const auto [level, share] = fan_of(*each.device);
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
    } else {
      out_.log(each.number, "Performance Level Unsupported");
      out_.missing();
    }
  }
}

void Smi::max_powers() {
  out_.section("Power Cap");
  for (const Chosen& each : chosen_) {
    const auto cap = each.device->sensor("power1_cap");
    if (cap) {
      out_.log(each.number, "Max Graphics Package Power (W)", divided(cap, 1e6));
    } else {
      out_.log(each.number, "Max Graphics Package Power Unsupported");
      out_.missing();
    }
  }
}

void Smi::powers() {
  out_.section("Power Consumption");
  bool second = false;
  for (const Chosen& each : chosen_) {
    const std::string name = "Average Graphics Package Power (W)";
    if (each.device->is_second_die()) {
      out_.log(each.number, name, "N/A (Secondary die)");
      second = true;
      continue;
    }
    const std::string power = divided(power_uw(*each.device), 1e6);
    if (power != "0.0") out_.log(each.number, name, power);
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
      out_.log(each.number, "GPU use Unsupported");
      out_.missing();
    }
    out_.log(each.number, "GFX Activity", known(each.device->table_number("gfx_activity_acc")));
  }
}

void Smi::memory_use() {
  out_.section("Current Memory Use");
  for (const Chosen& each : chosen_) {
    const auto busy = each.device->number("mem_busy_percent");
    if (busy) out_.log(each.number, "GPU memory use (%)", std::to_string(*busy));
    if (!busy) out_.missing();
    out_.log(each.number, "Memory Activity", known(each.device->table_number("mem_activity_acc")));
  }
}

void Smi::replays() {
  out_.section("PCIe Replay Counter");
  for (const Chosen& each : chosen_) {
    const auto count = each.device->number("pcie_replay_count");
    if (count) out_.log(each.number, "PCIe Replay Count", std::to_string(*count));
    if (!count) out_.missing();
  }
}

void Smi::serials() {
  out_.section("Serial Number");
  for (const Chosen& each : chosen_) {
    out_.log(each.number, "Serial Number", known(each.device->text("serial_number")));
  }
}

void Smi::voltages() {
  out_.section("Current voltage");
  for (const Chosen& each : chosen_) {
    const auto voltage = each.device->sensor("in0_input");
    if (voltage) out_.log(each.number, "Voltage (mV)", std::to_string(*voltage));
    if (!voltage) out_.missing();
  }
}

void Smi::buses() {
  out_.section("PCI Bus ID");
  for (const Chosen& each : chosen_) {
    std::string address = each.device->card().address;
    std::transform(address.begin(), address.end(), address.begin(), ::toupper);
    out_.log(each.number, "PCI Bus", address);
  }
}

void Smi::memory(const std::vector<std::string>& types) {
  out_.section("Memory Usage (Bytes)");
  for (const Chosen& each : chosen_) {
    for (const std::string& type : types) {
      std::string shown = type;
      std::transform(shown.begin(), shown.end(), shown.begin(), ::toupper);
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
        return monitor::leading_number(monitor::read_file(folder + "/" + file).value_or(""));
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
    std::transform(values.begin(), values.end(), values.begin(), ::tolower);
    if (r > 0) out_.system("PID" + rows[r][0], values);
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
    if (used.empty()) line = "None";
    for (size_t i = 0; i < all.size(); ++i) {
      if (used.count(all[i].card().kfd_id) != 0) line += std::to_string(i) + " ";
    }
    out_.line(line);
  }
}

}  // namespace sonde::cli
