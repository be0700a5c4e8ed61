#include "cli/smi_device.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "monitor/gpu_metrics.h"
#include "monitor/kept_file.h"

namespace sonde::cli {

namespace {

std::optional<std::string> trimmed(const std::string& path) {
  const auto text = monitor::read_file(path);
  if (!text) return std::nullopt;
  return std::string(trim(*text));
}

std::optional<int64_t> number_of(const std::string& path) {
  const auto text = trimmed(path);
  if (!text) return std::nullopt;
  return parse_int(*text);
}

}  // namespace

SmiDevice::SmiDevice(monitor::AmdCard card) : card_(std::move(card)) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(card_.device + "/hwmon", error)) {
    const std::string folder = entry.path().string();
    if (hwmon_.empty() || folder < hwmon_) hwmon_ = folder;
  }
}

std::optional<int64_t> SmiDevice::number(const std::string& file) const {
  return number_of(card_.device + "/" + file);
}

std::optional<std::string> SmiDevice::text(const std::string& file) const {
  return trimmed(card_.device + "/" + file);
}

std::optional<int64_t> SmiDevice::sensor(const std::string& file) const {
  if (hwmon_.empty()) return std::nullopt;
  return number_of(hwmon_ + "/" + file);
}

std::optional<int64_t> SmiDevice::temperature(const std::string& place) const {
  for (int i = 1; i <= 3; ++i) {
    const std::string prefix = "temp" + std::to_string(i);
    if (trimmed(hwmon_ + "/" + prefix + "_label") == place) return sensor(prefix + "_input");
  }
  return std::nullopt;
}

std::optional<int64_t> SmiDevice::hbm_temperature(int stack) const {
  const auto degrees = table_number("temperature_hbm", stack);
  if (!degrees) return std::nullopt;
  return 1000 * static_cast<int64_t>(*degrees);
}

std::optional<uint64_t> SmiDevice::table_number(const std::string& field, int index) const {
  const auto bytes = monitor::read_file(card_.device + "/gpu_metrics");
  if (!bytes) return std::nullopt;
  const auto table = monitor::GpuMetricsTable::read(*bytes);
  return table ? table->number(field, index) : std::nullopt;
}

std::optional<SmiClock> SmiDevice::clock(const std::string& name) const {
  const auto levels = text("pp_dpm_" + name);
  if (!levels) return std::nullopt;
  for (const std::string_view line : split(*levels, '\n')) {
    const size_t colon = line.find(": ");
    if (line.find('*') == line.npos || colon == line.npos) continue;
    const std::string value(line.substr(colon + 2));
    return SmiClock{monitor::leading_number(line), std::strtod(value.c_str(), nullptr)};
  }
  return std::nullopt;
}

std::string SmiDevice::performance_level() const {
  const std::string level = text("power_dpm_force_performance_level").value_or("");
  struct Name {
    const char *file, *shown;
  };
  constexpr Name kNames[] = {{"profile_standard", "stable_std"},
                             {"profile_peak", "stable_peak"},
                             {"profile_min_mclk", "stable_min_mclk"},
                             {"profile_min_sclk", "stable_min_sclk"},
                             {"perf_determinism", "unknown"}};
  for (const Name& each : kNames) {
    if (level == each.file) return each.shown;
  }
  return level;
}

SmiPower SmiDevice::power(bool of_the_moment) const {
  if (of_the_moment && trimmed(hwmon_ + "/power1_label") == "PPT") {
    if (const auto now = sensor("power1_input")) return {now, true};
  }
  return {sensor("power1_average"), false};
}

std::pair<int64_t, double> SmiDevice::fan() const {
  const int64_t level = sensor("pwm1").value_or(0);
  const int64_t most = sensor("pwm1_max").value_or(0);
  if (level == 0 || most == 0) return {level, 0};
  const double percent = 100.0 * static_cast<double>(level) / static_cast<double>(most);
  return {level, std::round(percent * 100) / 100};
}

std::optional<double> SmiDevice::vram_percent() const {
  const auto used = number("mem_info_vram_used"), total = number("mem_info_vram_total");
  if (!used || !total || *total <= 0) return std::nullopt;
  return 100 * (static_cast<double>(*used) / static_cast<double>(*total));
}

std::string SmiDevice::market_name() const {
  const std::string name = text("product_name").value_or("");
  return name.empty() ? "N/A" : name;
}

bool SmiDevice::is_second_die() const {
  return sensor("power1_cap") == 0 && sensor("power1_cap_default") == 0 &&
         sensor("power1_average") == 0;
}

std::vector<SmiDevice> smi_devices(const std::string& sys) {
  int error = 0;
  auto cards = monitor::find_amd_cards(sys, error);
  std::sort(cards.begin(), cards.end(),
            [](const auto& a, const auto& b) { return a.address < b.address; });
  std::vector<SmiDevice> devices;
  for (auto& card : cards) devices.emplace_back(std::move(card));
  return devices;
}

}  // namespace sonde::cli
