// The table that rocm-smi prints when nothing is asked: of 5.2, and of 6 and 7, which has two lines
// of headings. Part of `sonde rocm-smi`.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/smi_sections.h"

namespace sonde::cli {

namespace {

constexpr const char* kNotThere = "N/A";
constexpr size_t kGap = 2;

using Row = std::vector<std::string>;

// Counts characters: "°" has two bytes.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::vector<size_t> widths_of(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i]) + kGap);
  }
  return widths;
}

std::string line_of(const Row& row, const std::vector<size_t>& widths) {
  std::string line;
  for (size_t i = 0; i < row.size(); ++i) {
    line += row[i] + std::string(widths[i] - width_of(row[i]), ' ');
  }
  return line;
}

std::string percent_of(double share) { return (share == 0 ? "0" : python_float(share)) + "%"; }

// The first sensor that the first GPU has, as the files call it.
std::string sensor_of(const std::vector<Chosen>& chosen) {
  for (const char* sensor : {"edge", "junction", "mem"}) {
    if (!chosen.empty() && chosen[0].device->temperature(sensor)) return sensor;
  }
  return "edge";
}

}  // namespace

std::optional<double> Smi::cap_w(const SmiDevice& device) const {
  const auto cap = device.sensor("power1_cap");
  if (!cap) return std::nullopt;
  const double watts = static_cast<double>(*cap) / 1e6;
  return style_ == SmiStyle::kFive ? watts : std::floor(watts);
}

Row Smi::row_of_five(const Chosen& each) {
  const SmiDevice& device = *each.device;
  const auto clock = [&](const char* name) {
    const auto found = device.clock(name);
    return found ? fmt::format("{:.0f}Mhz", found->mhz) : std::string("None");
  };
  std::string temperature = divided(device.temperature("edge"), 1000);
  if (temperature != kNotThere) temperature += "c";
  std::string power = divided(device.power(false).uw, 1e6);
  power = power == "0.0" || power == kNotThere ? kNotThere : power + "W";
  const std::string level = device.performance_level();
  const auto cap = cap_w(device), used = device.vram_percent();
  const auto busy = device.number("gpu_busy_percent");
  if (level.empty() || !cap || !used || !busy) out_.missing();
  std::string memory = kNotThere;
  if (used) {
    char text[32];
    std::snprintf(text, sizeof text, "% 3.0f%%", *used);
    memory = text;
  }
  return {std::to_string(each.number),
          temperature,
          power,
          clock("sclk"),
          clock("mclk"),
          percent_of(device.fan().second),
          level.empty() ? "unsupported" : level,
          cap ? python_float(*cap) + "W" : "Unsupported",
          memory,
          busy ? std::to_string(*busy) + "%" : "Unsupported"};
}

void Smi::concise_of_five() {
  out_.section("Concise Info");
  std::vector<Row> rows = {
      {"GPU", "Temp", "AvgPwr", "SCLK", "MCLK", "Fan", "Perf", "PwrCap", "VRAM%", "GPU%"}};
  for (const Chosen& each : chosen_) rows.push_back(row_of_five(each));
  const auto widths = widths_of(rows);
  for (const Row& row : rows) out_.line(line_of(row, widths));
}

Row Smi::row_of_six(const Chosen& each, const std::string& sensor) const {
  const SmiDevice& device = *each.device;
  const bool seven = style_ == SmiStyle::kSeven;
  const auto clock = [&](const char* name) -> std::string {
    const auto found = device.clock(name);
    return found ? fmt::format("{:.0f}Mhz", found->mhz) : seven ? kNotThere : "None";
  };
  const auto or_missing = [](const auto& value, const auto& form, const char* otherwise) {
    return value ? form(*value) : std::string(otherwise);
  };
  const char* unknown = seven ? kNotThere : "Unsupported";
  const auto& node = device.card().node;
  const auto location = node.find("location_id");
  const int64_t partition = location == node.end() ? 0 : location->second >> 28 & 0xf;
  const auto id = device.text("device");
  const std::string level = device.performance_level();
  return {std::to_string(each.number),
          device.card().kfd_node < 0 ? kNotThere : std::to_string(device.card().kfd_node),
          id.value_or(kNotThere) + ", ",
          device.card().kfd_node < 0 ? kNotThere : std::to_string(device.card().kfd_id),
          or_missing(
              device.temperature(sensor),
              [](int64_t value) { return python_float(static_cast<double>(value) / 1000) + "°C"; },
              kNotThere),
          or_missing(
              device.power(true).uw,
              [](int64_t value) { return python_float(static_cast<double>(value) / 1e6) + "W"; },
              kNotThere),
          fmt::format("{}, {}, {}", device.text("current_memory_partition").value_or(kNotThere),
                      device.text("current_compute_partition").value_or(kNotThere), partition),
          clock("sclk"),
          clock("mclk"),
          percent_of(device.fan().second),
          !level.empty() ? level : "n/a",
          or_missing(
              cap_w(device), [](double watts) { return python_float(watts) + "W"; }, unknown),
          or_missing(
              device.vram_percent(),
              [](double share) { return fmt::format("{:.0f}%", std::floor(share)); }, kNotThere),
          or_missing(
              device.number("gpu_busy_percent"),
              [](int64_t busy) { return std::to_string(busy) + "%"; }, unknown)};
}

void Smi::concise_of_six() {
  const std::string sensor = sensor_of(chosen_);
  std::string heat = sensor == "mem" ? "(Memory)" : "(" + sensor + ")";
  heat[1] = static_cast<char>(heat[1] & ~0x20);
  const bool now = !chosen_.empty() && chosen_[0].device->power(true).is_current;
  const Row header = {"Device", "Node", "IDs", "",     "Temp",   "Power", "Partitions",
                      "SCLK",   "MCLK", "Fan", "Perf", "PwrCap", "VRAM%", "GPU%"};
  Row below = {"", "", "(DID,", "GUID)", heat, now ? "(Socket)" : "(Avg)", "(Mem, Compute, ID)"};
  below.resize(header.size());
  std::vector<Row> rows = {header, below};
  for (const Chosen& each : chosen_) rows.push_back(row_of_six(each, sensor));
  const auto widths = widths_of(rows);
  const std::string line = line_of(header, widths);
  out_.fit(line.size());
  out_.section("Concise Info");
  out_.line(line);
  out_.line("\033[3m" + line_of(below, widths) +
            "\033[0m");  // in italics, whatever it is written to
  out_.rule();
  for (size_t i = 2; i < rows.size(); ++i) out_.line(line_of(rows[i], widths));
}

void Smi::concise() {
  if (style_ == SmiStyle::kFive) {
    concise_of_five();
  } else {
    concise_of_six();
  }
}

}  // namespace sonde::cli
