// The sections of rocm-smi's output, each a question about the chosen GPUs. Used by `sonde
// rocm-smi`.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/smi_device.h"
#include "cli/smi_output.h"

namespace sonde::cli {

struct Chosen {
  int64_t number;
  const SmiDevice* device;
};

class Smi {
 public:
  Smi(SmiOutput& out, const std::vector<Chosen>& chosen) : out_(out), chosen_(chosen) {}

  void concise();
  void ids();
  void unique_ids();
  void vbios();
  void temperatures();
  void clocks();
  void shader_clocks();
  void fans();
  void levels();
  void max_powers();
  void powers();
  void use();
  void memory_use();
  void replays();
  void serials();
  void voltages();
  void buses();
  void memory(const std::vector<std::string>& types);
  void processes(const std::string& proc, const std::string& sys,
                 const std::vector<SmiDevice>& all);
  void gpus_of_processes(const std::string& sys, std::vector<int64_t> pids,
                         const std::vector<SmiDevice>& all);

 private:
  template <typename Value>
  std::string known(const std::optional<Value>& value) {
    if (value) return fmt::format("{}", *value);
    out_.missing();
    return "N/A";
  }
  // A millionth or a thousandth of it, as Python divides.
  std::string divided(std::optional<int64_t> value, double by) {
    if (value) return python_float(static_cast<double>(*value) / by);
    out_.missing();
    return "N/A";
  }
  static std::optional<int64_t> power_uw(const SmiDevice& device) {
    return device.sensor("power1_average");
  }
  std::vector<std::string> concise_row(const Chosen& each);

  SmiOutput& out_;
  const std::vector<Chosen>& chosen_;
};

}  // namespace sonde::cli
