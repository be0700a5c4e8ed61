// An AMD GPU as rocm-smi asks for it: by the files that its library reads, and in its numbers. Used
// by `sonde rocm-smi`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monitor/amd_cards.h"

namespace sonde::cli {

struct SmiClock {
  int64_t level = 0;
  double mhz = 0;
};

struct SmiPower {
  std::optional<int64_t> uw;
  bool is_current = false;  // of the socket at this moment; else an average
};

class SmiDevice {
 public:
  explicit SmiDevice(monitor::AmdCard card);

  const monitor::AmdCard& card() const { return card_; }
  std::optional<int64_t> number(const std::string& file) const;  // of the device's folder
  std::optional<std::string> text(const std::string& file) const;
  std::optional<int64_t> sensor(const std::string& file) const;  // of its hwmon
  // "edge", "junction", "mem": thousandths of a degree.
  std::optional<int64_t> temperature(const std::string& place) const;
  std::optional<int64_t> hbm_temperature(int stack) const;
  // Of gpu_metrics.
  std::optional<uint64_t> table_number(const std::string& field, int index = 0) const;
  // The marked level of pp_dpm_NAME.
  std::optional<SmiClock> clock(const std::string& name) const;
  std::string performance_level() const;  // "" if it is not told
  // What rocm-smi shows as power: the average, or from ROCm 6 on the current power first.
  SmiPower power(bool of_the_moment) const;
  std::pair<int64_t, double> fan() const;  // its level, and that in percent of the most
  std::optional<double> vram_percent() const;
  std::string market_name() const;
  bool is_second_die() const;

 private:
  monitor::AmdCard card_;
  std::string hwmon_;
};

// In the order of rocm-smi, which is that of the bus.
std::vector<SmiDevice> smi_devices(const std::string& sys);

}  // namespace sonde::cli
