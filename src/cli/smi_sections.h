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

// Which form: that of ROCm 5.2, 6 (6.1.2, in Debian 13) or 7, which writes N/A for whatever is
// missing in the table.
enum class SmiStyle { kFive, kSix, kSeven };

class Smi {
 public:
  Smi(SmiOutput& out, const std::vector<Chosen>& chosen, SmiStyle style)
      : out_(out), chosen_(chosen), style_(style) {}

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
  // What rocm-smi says, from ROCm 6 on, beside or instead of a value that is not there.
  void log_or_absent(const Chosen& each, const char* name, const std::optional<int64_t>& value,
                     const char* asked);
  void absent(int64_t number, const char* question) {
    out_.missing();
    if (style_ == SmiStyle::kFive || !out_.is_text()) return;
    out_.log(number, fmt::format("{}, Not supported on the given system", question));
  }
  // A millionth or a thousandth of it, as Python divides.
  std::string divided(std::optional<int64_t> value, double by) {
    if (value) return python_float(static_cast<double>(*value) / by);
    out_.missing();
    return "N/A";
  }
  // Whole watts from ROCm 6 on.
  std::optional<double> cap_w(const SmiDevice& device) const;
  std::vector<std::string> row_of_five(const Chosen& each);
  std::vector<std::string> row_of_six(const Chosen& each, const std::string& sensor) const;
  void concise_of_five();
  void concise_of_six();

  SmiOutput& out_;
  const std::vector<Chosen>& chosen_;
  SmiStyle style_;
};

}  // namespace sonde::cli
