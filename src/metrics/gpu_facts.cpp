#include "metrics/gpu_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "base/letters.h"
#include "base/strings.h"
#include "metrics/csv_text.h"
#include "metrics/definition_texts.h"
#include "metrics/definitions.h"

namespace sonde::metrics {
namespace {

constexpr std::string_view kHead = "[gpu ";
// The same on all of these GPUs.
constexpr std::pair<const char*, double> kCommon[] = {
    {"simd_per_cu", 4}, {"wave_size", 64}, {"pipes_per_gpu", 4}, {"lds_banks_per_cu", 32}};

}  // namespace

Result<std::vector<GpuFacts>> parse_gpu_facts(std::string_view text, const std::string& place) {
  std::vector<GpuFacts> gpus;
  size_t row = 0;
  for (std::string_view line : split(text, '\n')) {
    ++row;
    line = trim(line);
    if (line.empty() || line.front() == '#') continue;
    const auto wrong = make_error(ErrorCode::kInvalidArgument, "this line does not describe a GPU",
                                  fmt::format("{}:{}", place, row));
    if (line.substr(0, kHead.size()) == kHead && line.back() == ']') {
      gpus.emplace_back();
      gpus.back().model = line.substr(kHead.size(), line.size() - kHead.size() - 1);
      for (const auto& [name, value] : kCommon) gpus.back().facts[name] = value;
      continue;
    }
    const size_t equals = line.find(" = ");
    if (equals == line.npos || gpus.empty()) return wrong;
    const std::string_view key = trim(line.substr(0, equals));
    const std::string_view value = trim(line.substr(equals + 3));
    GpuFacts& gpu = gpus.back();
    const double number = number_of(value);
    if (key == "arch") {
      gpu.arch = value;
    } else if (key == "match") {
      for (const std::string_view part : split(value, '|')) gpu.match.emplace_back(part);
    } else if (is_gpu_fact(key) && number > 0) {
      gpu.facts[std::string(key)] = number;
    } else {
      return wrong;
    }
  }
  return gpus;
}

std::string architecture_of(std::string_view device) {
  const std::string text = lower(device);
  if (const size_t at = text.find("gfx"); at != std::string::npos) {
    size_t end = at + 3;
    while (end < text.size() && std::isxdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end > at + 5) return text.substr(at, end - at);
  }
  const auto facts = gpu_facts_of(device);
  return facts.ok() ? facts->arch : "";
}

Result<GpuFacts> gpu_facts_of(std::string_view device) {
  SONDE_ASSIGN(const std::vector<GpuFacts> gpus, parse_gpu_facts(kGpuFactsText, "gpus.ini"));
  std::vector<std::string> models;
  for (const GpuFacts& gpu : gpus) {
    models.push_back(gpu.model);
    for (const std::string& part : gpu.match) {
      if (lower(device).find(lower(part)) != std::string::npos) return gpu;
    }
  }
  return make_error(ErrorCode::kNotFound,
                    device.empty() ? "the trace does not name its GPU"
                                   : "unknown GPU model: " + std::string(device),
                    "--gpu-model", fmt::format("known are {}", fmt::join(models, ", ")));
}

}  // namespace sonde::metrics
