#include "analysis/perf/gpu_peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/letters.h"
#include "base/strings.h"

namespace sonde::analysis {

extern const char* const kGpuPeaksText;  // gpu_peaks.toml

namespace {

constexpr std::array<std::string_view, kPrecisions> kPrecisionNames = {
    "fp64", "fp32", "fp16", "bf16", "fp8", "int8", ""};

// "a value" in quotes without escapes, or a number; "" if it is neither.
std::string_view unquoted(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return {};
  return value.substr(1, value.size() - 2);
}

std::optional<double> figure(std::string_view value) {
  const std::string text(value);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool whole = end == text.c_str() + text.size() && !text.empty();
  return whole && number > 0 && number < 1e9 ? std::optional(number) : std::nullopt;
}

// False if there is no such key, or the value does not suit it.
bool set_member(GpuPeak& peak, std::string_view key, std::string_view value) {
  for (auto [name, text] : {std::pair{"name", &peak.name}, std::pair{"match", &peak.match},
                            std::pair{"source", &peak.source}, std::pair{"date", &peak.date}}) {
    if (key != name) continue;
    *text = unquoted(value);
    return !text->empty();
  }
  const auto number = figure(value);
  if (!number) return false;
  if (key == "bandwidth" || key == "units") {
    (key == "units" ? peak.compute_units : peak.bandwidth_gb_per_s) = *number;
    return true;
  }
  constexpr std::string_view kVector = "vector_";
  const bool is_vector = key.substr(0, kVector.size()) == kVector;
  if (is_vector) key.remove_prefix(kVector.size());
  for (size_t i = 0; i + 1 < kPrecisions; ++i) {
    if (key != kPrecisionNames[i]) continue;
    (is_vector ? peak.vector : peak.matrix)[i] = *number;
    return true;
  }
  return false;
}

}  // namespace

bool GpuPeak::fits(std::string_view device) const {
  const std::string text = lower(device);
  if (text.find(" mig ") != text.npos) return false;  // a part of the GPU
  for (std::string_view part : split(match, '|')) {
    const bool is_end = part.ends_with('$');
    if (is_end) part.remove_suffix(1);
    const size_t at = part.empty() ? text.npos : text.find(lower(part));
    if (at == text.npos || (at != 0 && is_alphanumeric(text[at - 1]))) continue;
    if (!is_end || at + part.size() == text.size()) return true;
  }
  return false;
}

std::optional<double> GpuPeak::compute(Precision precision, bool on_matrix_units) const {
  const Precision used = on_matrix_units                 ? precision
                         : precision == Precision::kFp64 ? Precision::kFp64
                                                         : Precision::kFp32;
  const double peak = (on_matrix_units ? matrix : vector)[static_cast<size_t>(used)];
  return peak > 0 ? std::optional(peak) : std::nullopt;
}

Result<std::vector<GpuPeak>> parse_gpu_peaks(std::string_view text, const std::string& place) {
  std::vector<GpuPeak> peaks;
  size_t line_number = 0;
  const auto wrong = [&](const std::string& what) {
    return make_error(ErrorCode::kInvalidArgument, what, fmt::format("{}:{}", place, line_number),
                      "the file has [[gpu]] and then lines like fp16 = 312 or name = \"A100\"");
  };
  for (std::string_view line : split(text, '\n')) {
    ++line_number;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    if (line == "[[gpu]]") {
      peaks.emplace_back();
      continue;
    }
    const size_t equals = line.find('=');
    if (peaks.empty() || equals == line.npos) return wrong("this line does not describe a GPU");
    const std::string_view key = trim(line.substr(0, equals));
    if (!set_member(peaks.back(), key, trim(line.substr(equals + 1)))) {
      return wrong("unknown key or value of '" + std::string(key) + "'");
    }
  }
  for (const GpuPeak& peak : peaks) {
    if (peak.name.empty() || peak.bandwidth_gb_per_s == 0) {
      return wrong("a GPU without name or bandwidth");
    }
  }
  return peaks;
}

Result<std::vector<GpuPeak>> gpu_peaks(const std::string& path) {
  SONDE_ASSIGN(std::vector<GpuPeak> built_in, parse_gpu_peaks(kGpuPeaksText, "gpu_peaks.toml"));
  if (path.empty()) return built_in;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return make_error(ErrorCode::kIo, "cannot be read", path,
                      "give a file of the form of src/analysis/perf/gpu_peaks.toml");
  }
  SONDE_ASSIGN(std::vector<GpuPeak> peaks, parse_gpu_peaks(text.str(), path));
  peaks.insert(peaks.end(), built_in.begin(), built_in.end());
  return peaks;
}

const GpuPeak* peak_of(std::span<const GpuPeak> peaks, const trace::Trace& trace, int64_t gpu) {
  const auto device = std::find_if(trace.devices.begin(), trace.devices.end(),
                                   [&](const trace::Device& one) { return one.gpu == gpu; });
  if (device == trace.devices.end()) return nullptr;
  const auto peak = std::find_if(peaks.begin(), peaks.end(),
                                 [&](const GpuPeak& one) { return one.fits(device->name); });
  if (peak == peaks.end()) return nullptr;
  // Of a part of the GPU, such as one in CPX mode, which has the same name.
  constexpr double kPart = 0.75;
  const auto units = static_cast<double>(device->compute_units);
  return units > 0 && units < peak->compute_units * kPart ? nullptr : &*peak;
}

}  // namespace sonde::analysis
