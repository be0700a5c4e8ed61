#include "watch/amd_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/strings.h"
#include "monitor/gpu_metrics.h"

namespace sonde::watch {

namespace {

namespace fs = std::filesystem;
constexpr int64_t kFindAgainNs = 5'000'000'000;
constexpr int64_t kErrorsAgainNs = 10'000'000'000;
constexpr double kJoulesOfEnergy = 1.0 / 65536;  // per unit of the energy accumulator

int64_t property(const monitor::AmdCard& card, std::string_view name) {
  const auto found = card.node.find(name);
  return found == card.node.end() ? 0 : found->second;
}

// 90010: major * 10000 + minor * 100 + step; the last two are printed as hexadecimal digits.
std::string target_of(int64_t version) {
  if (version <= 0) return {};
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

std::string hwmon_of(const std::string& device) {
  std::error_code error;
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(device + "/hwmon", error)) {
    folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders.empty() ? std::string() : folders.front();
}

bool is_suspended(const std::string& device) {
  // Opened anew: a file that was kept open gives no answer once the card is gone.
  const auto status = monitor::read_file(device + "/power/runtime_status");
  return status && trim(*status).rfind("suspend", 0) == 0;
}

// "7: 1700Mhz *": the marked clock.
Real marked_mhz(const std::optional<std::string>& levels) {
  if (!levels) return std::nullopt;
  for (const std::string_view line : split(*levels, '\n')) {
    const size_t colon = line.find(": ");
    if (line.find('*') == line.npos || colon == line.npos) continue;
    return static_cast<double>(monitor::leading_number(line.substr(colon + 2)));
  }
  return std::nullopt;
}

// "ue: 0
// ce: 3", and from Linux 6.9 on "de: 0".
BlockErrors errors_of(std::string block, std::string_view text) {
  BlockErrors errors;
  errors.block = std::move(block);
  for (const std::string_view line : split(text, '\n')) {
    const auto take = [&](const char* key, Whole& count) {
      if (line.rfind(key, 0) == 0) count = parse_int(trim(line.substr(std::strlen(key))));
    };
    take("ue:", errors.uncorrected);
    take("ce:", errors.corrected);
    take("de:", errors.deferred);
  }
  return errors;
}

Real positive(Real value) { return value && *value > 0 ? value : std::nullopt; }

void put_partitions(const monitor::GpuMetricsTable& table, Gpu& gpu) {
  const auto count = table.number("num_partition");
  for (int i = 0; count && i < static_cast<int>(*count) && i < monitor::kGpuPartitions; ++i) {
    Partition partition;
    partition.number = i;
    double sum = 0;
    int dies = 0;
    for (int die = 0; die < 8; ++die) {
      if (const auto busy = table.number("gfx_busy_inst", die, i)) {
        sum += static_cast<double>(*busy);
        ++dies;
      }
    }
    if (dies != 0) partition.busy_percent = sum / dies;
    gpu.partitions.push_back(partition);
  }
}

}  // namespace

void AmdGpus::find(Snapshot& snapshot) {
  int error = 0;
  auto found = monitor::find_amd_cards(sys_, error);
  if (error != 0 && cards_.empty()) {
    snapshot.missing.push_back(fmt::format("AMD GPUs: {}/class/drm: {}", sys_, strerror(error)));
  }
  // Numbers are stable: the number of a card that is gone is not reused.
  for (monitor::AmdCard& card : found) {
    const auto known = std::find_if(cards_.begin(), cards_.end(), [&](const AmdGpu& each) {
      return each.card.address == card.address;
    });
    if (known == cards_.end()) {
      add(std::move(card));
    } else {
      renew(*known, std::move(card));
    }
  }
}

void AmdGpus::add(monitor::AmdCard card) {
  AmdGpu gpu;
  gpu.card = std::move(card);
  const std::string& device = gpu.card.device;
  gpu.fixed.number = static_cast<int64_t>(cards_.size());
  gpu.fixed.vendor = "AMD";
  gpu.fixed.address = gpu.card.address;
  gpu.fixed.device_id = files_.text(device + "/device").value_or("");
  gpu.fixed.name = files_.text(device + "/product_name").value_or("");
  if (gpu.fixed.name.empty()) {
    gpu.fixed.name = trim("AMD GPU " + gpu.fixed.device_id);
  }
  gpu.fixed.unique_id = files_.text(device + "/unique_id").value_or("");
  gpu.fixed.serial = files_.text(device + "/serial_number").value_or("");
  gpu.fixed.target = target_of(property(gpu.card, "gfx_target_version"));
  const int64_t simds = property(gpu.card, "simd_per_cu");
  if (simds > 0) gpu.fixed.compute_units = property(gpu.card, "simd_count") / simds;
  cards_.push_back(std::move(gpu));
}

// A card comes back as another of DRM's if a process still holds files of the one that it was, and
// KFD may give it another number.
void AmdGpus::renew(AmdGpu& known, monitor::AmdCard card) {
  if (known.card.device != card.device) forget(known);
  known.card = std::move(card);
}

void AmdGpus::forget(AmdGpu& gpu) {
  files_.forget(gpu.card.device);
  gpu.rates = {};
  gpu.hwmon.clear();
  gpu.ecc_read_ns = 0;
}

void AmdGpus::look(Snapshot& snapshot, bool whole_table) {
  if (cards_.empty() || snapshot.time_ns - found_ns_ >= kFindAgainNs) {
    find(snapshot);
    found_ns_ = snapshot.time_ns;
  }
  for (AmdGpu& card : cards_) {
    Gpu gpu = card.fixed;
    std::error_code error;
    if (!fs::exists(card.card.device + "/vendor", error)) {
      gpu.state = GpuState::kGone;
      forget(card);
    } else if (is_suspended(card.card.device)) {
      gpu.state = GpuState::kAsleep;
      gpu.vram_total_bytes = files_.number(card.card.device + "/mem_info_vram_total");
    } else {
      read(card, gpu, snapshot.time_ns, whole_table);
    }
    snapshot.gpus.push_back(std::move(gpu));
  }
}

void AmdGpus::read(AmdGpu& card, Gpu& gpu, int64_t now_ns, bool whole_table) {
  const std::string& device = card.card.device;
  if (card.hwmon.empty()) card.hwmon = hwmon_of(device);
  read_files(card, gpu);
  if (!card.hwmon.empty()) read_sensors(card, gpu);
  read_errors(card, gpu, now_ns);
  read_table(card, gpu, now_ns, whole_table);
}

void AmdGpus::read_table(AmdGpu& card, Gpu& gpu, int64_t now_ns, bool whole_table) {
  const std::string& device = card.card.device;
  const auto bytes = files_.bytes(device + "/gpu_metrics");
  if (!bytes) {
    if (files_.error() != ENOENT) {
      gpu.unreadable.push_back(device + "/gpu_metrics: " + strerror(files_.error()));
    }
    return;
  }
  const auto table = monitor::GpuMetricsTable::read(*bytes);
  if (!table) {
    gpu.unreadable.push_back(device + "/gpu_metrics: " + table.error().message);
    return;
  }
  gpu.table_version = table->version();
  const monitor::GpuMetrics values = summary_of(*table);
  const auto prefer = [](Real& value, const std::optional<double>& told) {
    if (told) value = told;
  };
  prefer(gpu.busy_percent, values.busy_percent);
  prefer(gpu.memory_busy_percent, values.mem_busy_percent);
  prefer(gpu.media_percent, values.media_percent);
  prefer(gpu.edge_c, values.edge_c);
  prefer(gpu.junction_c, values.junction_c);
  prefer(gpu.memory_c, values.memory_c);
  prefer(gpu.sclk_mhz, values.sclk_mhz);
  prefer(gpu.mclk_mhz, values.mclk_mhz);
  prefer(gpu.power_w, values.power_w);
  if (const auto energy = table->number("energy_accumulator")) {
    gpu.energy_j = kJoulesOfEnergy * static_cast<double>(*energy);
  }
  if (const auto lanes = table->number("pcie_link_width")) {
    gpu.pcie_lanes = static_cast<int64_t>(*lanes);
  }
  if (const auto speed = table->number("pcie_link_speed")) {
    gpu.pcie_gts = 0.1 * static_cast<double>(*speed);
  }
  if (const auto rpm = table->number("current_fan_speed")) {
    gpu.fan_rpm = static_cast<double>(*rpm);
  }
  card.rates.take(*table, now_ns, gpu);
  put_partitions(*table, gpu);
  if (!whole_table) return;
  table->visit(
      [&](const monitor::GpuField& field, int index, int partition, std::optional<uint64_t> value) {
        const std::string of = partition < 0 ? "" : fmt::format("xcp{}.", partition);
        const std::string at = field.count == 1 ? "" : fmt::format("[{}]", index);
        gpu.table.push_back({of + field.name + at, value, monitor::unit_text(field.unit)});
      });
}

void AmdGpus::read_files(AmdGpu& card, Gpu& gpu) {
  const std::string folder = card.card.device + "/";
  gpu.busy_percent = files_.scaled(folder + "gpu_busy_percent", 1);
  if (!gpu.busy_percent && files_.error() != ENOENT && files_.error() != 0) {
    gpu.unreadable.push_back(folder + "gpu_busy_percent: " + strerror(files_.error()));
  }
  gpu.memory_busy_percent = files_.scaled(folder + "mem_busy_percent", 1);
  gpu.vram_used_bytes = files_.number(folder + "mem_info_vram_used");
  gpu.vram_total_bytes = files_.number(folder + "mem_info_vram_total");
  gpu.gtt_used_bytes = files_.number(folder + "mem_info_gtt_used");
  gpu.gtt_total_bytes = files_.number(folder + "mem_info_gtt_total");
  gpu.sclk_mhz = marked_mhz(files_.text(folder + "pp_dpm_sclk"));
  gpu.mclk_mhz = marked_mhz(files_.text(folder + "pp_dpm_mclk"));
  gpu.performance_level = files_.text(folder + "power_dpm_force_performance_level").value_or("");
  gpu.compute_partition = files_.text(folder + "current_compute_partition").value_or("");
  gpu.memory_partition = files_.text(folder + "current_memory_partition").value_or("");
  gpu.pcie_lanes = files_.number(folder + "current_link_width");
  if (const auto speed = files_.text(folder + "current_link_speed")) {
    const double gts = std::strtod(speed->c_str(), nullptr);  // "16.0 GT/s PCIe"
    if (gts > 0) gpu.pcie_gts = gts;
  }
  gpu.pcie_replays = files_.number(folder + "pcie_replay_count");
}

void AmdGpus::read_sensors(const AmdGpu& card, Gpu& gpu) {
  const std::string folder = card.hwmon + "/";
  // Newer kernels report the current power instead of an average.
  gpu.power_w = files_.scaled(folder + "power1_average", 1e-6);
  if (!gpu.power_w) gpu.power_w = files_.scaled(folder + "power1_input", 1e-6);
  gpu.power_cap_w = files_.scaled(folder + "power1_cap", 1e-6);
  for (int i = 1; i <= 3; ++i) {
    const std::string prefix = folder + "temp" + std::to_string(i);
    const std::string place = files_.text(prefix + "_label").value_or("");
    const Real value = files_.scaled(prefix + "_input", 1e-3);
    const Real limit = positive(files_.scaled(prefix + "_crit", 1e-3));
    if (place == "edge") gpu.edge_c = value;
    if (place == "junction") gpu.junction_c = value, gpu.junction_limit_c = limit;
    if (place == "mem") gpu.memory_c = value, gpu.memory_limit_c = limit;
  }
  if (!gpu.sclk_mhz) gpu.sclk_mhz = files_.scaled(folder + "freq1_input", 1e-6);
  if (!gpu.mclk_mhz) gpu.mclk_mhz = files_.scaled(folder + "freq2_input", 1e-6);
  gpu.fan_rpm = files_.scaled(folder + "fan1_input", 1);
  const Real pwm = files_.scaled(folder + "pwm1", 1);
  const Real most = positive(files_.scaled(folder + "pwm1_max", 1));
  if (pwm && most) gpu.fan_percent = 100 * *pwm / *most;
}

void AmdGpus::read_errors(AmdGpu& card, Gpu& gpu, int64_t now_ns) {
  if (card.ecc_read_ns == 0 || now_ns - card.ecc_read_ns >= kErrorsAgainNs) {
    card.ecc_read_ns = now_ns;
    card.errors.clear();
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(card.card.device + "/ras", error)) {
      constexpr std::string_view kEnd = "_err_count";
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(kEnd)) continue;
      const auto text = monitor::read_file(entry.path().string());
      if (!text) continue;
      card.errors.push_back(errors_of(name.substr(0, name.size() - kEnd.size()), *text));
    }
    std::sort(card.errors.begin(), card.errors.end(),
              [](const auto& a, const auto& b) { return a.block < b.block; });
  }
  gpu.block_errors = card.errors;
  const auto add = [](Whole& sum, const Whole& count) {
    if (count) sum = sum.value_or(0) + *count;
  };
  for (const BlockErrors& each : card.errors) {
    add(gpu.ecc_corrected, each.corrected);
    add(gpu.ecc_uncorrected, each.uncorrected);
  }
}

}  // namespace sonde::watch
