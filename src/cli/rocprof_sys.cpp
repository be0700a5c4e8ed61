#include "cli/rocprof_sys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/letters.h"
#include "base/strings.h"
#include "cli/rocprof_sys_file.h"
#include "monitor/kept_file.h"
#include "record/backend.h"

namespace sonde::cli {

namespace {

using Values = std::map<std::string, std::string>;  // setting: value

std::optional<bool> truth(const std::string& text) {
  const std::string word = lower(text);
  for (const char* yes : {"true", "on", "yes", "y", "t", "1"}) {
    if (word == yes) return true;
  }
  for (const char* no : {"false", "off", "no", "n", "f", "0"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

std::optional<double> positive(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || *end != '\0' || !std::isfinite(value) || value <= 0)
    return std::nullopt;
  return value;
}

std::string rounded(double value, double most) {
  return std::to_string(std::max<int64_t>(1, std::llround(std::min(value, most))));
}

std::string seconds(const std::string& text) {
  const auto value = positive(text);
  return value ? fmt::format("{}us", std::llround(*value * 1e6)) : "";
}

// All backends but those whose names begin with one of these.
std::string backends_without(std::initializer_list<std::string_view> names) {
  std::string list;
  for (const auto& backend : record::all_backends()) {
    if (std::find(names.begin(), names.end(), backend.name) != names.end()) continue;
    list += (list.empty() ? "" : ",") + backend.name;
  }
  return list;
}

// Their metrics of GPUs by ours.
std::string gpu_metrics(const std::string& value) {
  const std::pair<const char*, const char*> kWords[] = {
      {"busy", "gpu.busy_percent,gpu.mem_busy_percent,gpu.media_percent"},
      {"temp", "gpu.temp_edge_c,gpu.temp_junction_c,gpu.temp_mem_c"},
      {"power", "gpu.power_w"},
      {"mem_usage", "gpu.vram_used_bytes"}};
  std::string list = "process,cpu,memory,pressure,disk,network,power";
  for (const auto word : split(value, ',')) {
    for (const auto& [theirs, ours] : kWords) {
      if (word == theirs) list += std::string(",") + ours;
    }
  }
  return value == "all" ? list + ",gpu" : list;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// Our value for one of their settings. An empty setting: it asks for what Sonde does anyway.
// nullopt: Sonde has no counterpart.
struct Meaning {
  const char* setting;
  std::string value;
};
std::optional<Meaning> meaning_of(const std::string& name, const std::string& value) {
  const auto on = truth(value);
  const auto rate = positive(value);
  const Meaning kAnyhow{"", ""};
  if (name == "USE_SAMPLING") {
    return on.value_or(true) ? kAnyhow : Meaning{"sample", "off"};
  }
  if (name == "SAMPLING_REALTIME")
    return on.value_or(false) ? Meaning{"sample-clock", "wall"} : kAnyhow;
  if (name == "SAMPLING_FREQ" || name == "SAMPLING_CPUTIME_FREQ" ||
      name == "SAMPLING_REALTIME_FREQ") {
    return rate ? Meaning{"sample", rounded(*rate, 10'000)} : kAnyhow;
  }
  if (name == "OUTPUT_PATH" && is_folder(value)) return Meaning{"output", value};
  if (name == "USE_PROCESS_SAMPLING" || name == "USE_THREAD_SAMPLING") {
    return on.value_or(true) ? kAnyhow : Meaning{"metrics", "off"};
  }
  if (name == "PROCESS_SAMPLING_FREQ") {
    return rate ? Meaning{"metrics-hz", rounded(*rate, 1000)} : kAnyhow;
  }
  if (name == "CPU_FREQ_ENABLED")
    return on.value_or(false) ? Meaning{"metrics", "default,cores"} : kAnyhow;
  if (name == "AMD_SMI_METRICS" || name == "ROCM_SMI_METRICS") {
    return Meaning{"metrics", gpu_metrics(value.empty() ? "all" : value)};
  }
  if (name == "USE_AMD_SMI" || name == "USE_ROCM_SMI") {
    return on.value_or(true) ? kAnyhow : Meaning{"metrics", gpu_metrics("none")};
  }
  if (name == "USE_ROCM") {
    if (on.value_or(true)) return kAnyhow;
    return Meaning{"backends", backends_without({"hip", "hsa", "roctx"})};
  }
  if (name == "USE_ROCPROFILER" && on == false) return kAnyhow;  // no hardware counters
  if (name == "TRACE_DELAY") return rate ? Meaning{"delay", seconds(value)} : kAnyhow;
  if (name == "TRACE_DURATION") return rate ? Meaning{"duration", seconds(value)} : kAnyhow;
  if (name == "TMPDIR") return value.empty() ? kAnyhow : Meaning{"spool-dir", value};
  if (name == "PERFETTO_BUFFER_SIZE_KB") {
    return rate ? Meaning{"buffer-limit", rounded(*rate, 1e12) + "K"} : kAnyhow;
  }
  if (name == "PERFETTO_FILL_POLICY") {
    return value == "discard" ? std::optional<Meaning>({"buffer-policy", "drop"}) : std::nullopt;
  }
  const bool has_trace =
      name == "TRACE" || name == "SAMPLING_CPUTIME" || name == "USE_PERFETTO" || name == "ENABLED";
  if (has_trace || name == "CONFIG_FILE") return kAnyhow;
  return std::nullopt;
}

// The setting's name as they write it without its prefix.
std::string short_name(const std::string& word) {
  std::string name = upper(word);
  for (const std::string_view prefix : {"ROCPROFSYS_", "OMNITRACE_"}) {
    if (name.rfind(prefix, 0) == 0) return name.substr(prefix.size());
  }
  return name;
}

// "$X", "$env:X" and "$SETTING" stand for other values.
std::string expanded(const std::string& word, const Values& variables) {
  if (word.empty() || word[0] != '$') return word;
  if (word.rfind("$env:", 0) == 0) {
    const char* value = std::getenv(word.c_str() + 5);
    return value != nullptr ? value : "";
  }
  const auto found = variables.find(short_name(word.substr(1)));
  return found != variables.end() ? found->second : word;
}

}  // namespace

Result<Layer> read_rocprof_sys_config(const std::string& path, std::vector<std::string>& warnings) {
  int failure = 0;
  const auto text = monitor::read_file(path, &failure);
  if (!text) return errno_error("cannot be read", path, failure);
  Layer layer{"config file of ROCm Systems Profiler", {}};
  Values variables;
  std::string ignored;
  size_t ignored_count = 0;
  SONDE_ASSIGN(const auto entries, rocprof_sys_entries(*text, path));
  for (const auto& [written, words, row] : entries) {
    std::string value;
    for (size_t i = 0; i < words.size(); ++i) {
      value += (i > 0 ? "," : "") + expanded(words[i], variables);
    }
    const bool is_variable = written[0] == '$';
    const std::string name = short_name(is_variable ? written.substr(1) : written);
    variables[name] = value;
    if (is_variable) continue;
    const auto meaning = meaning_of(name, value);
    if (meaning && *meaning->setting == '\0') continue;
    const Setting* setting = meaning ? find_setting(meaning->setting) : nullptr;
    const std::string origin = fmt::format("{}:{}", path, row);
    if (setting != nullptr && check_value(*setting, meaning->value, origin)) {
      // The last one counts, as it does there.
      layer.values.insert(layer.values.begin(), {setting, meaning->value, origin});
      continue;
    }
    ++ignored_count;
    constexpr size_t kMostNamed = 8;
    if (ignored_count == kMostNamed + 1) ignored += " ...";
    if (ignored_count <= kMostNamed) {
      ignored += fmt::format("{}{} (row {})", ignored.empty() ? "" : ", ", valid_utf8(name), row);
    }
  }
  if (ignored_count != 0) {
    warnings.push_back(fmt::format("{}: {} settings have no counterpart and are ignored: {}", path,
                                   ignored_count, ignored));
  }
  return layer;
}

Layer rocprof_sys_include(const std::string& words, std::vector<std::string>& warnings) {
  const std::pair<std::string_view, const char*> kWords[] = {
      {"all", ""},        {"rocm", "hip,hsa,roctx"},  {"roctracer", "hip,hsa"},
      {"roctx", "roctx"}, {"rocprofiler", "hip,hsa"}, {"amd-smi", ""},
      {"hip", "hip,hsa"}, {"rcclp", "hip"},           {"rocm-smi", ""}};
  std::string list, unknown;
  bool all = false;
  for (const auto word : split(words, ',')) {
    const auto known = std::find_if(std::begin(kWords), std::end(kWords),
                                    [&](const auto& each) { return each.first == trim(word); });
    if (known == std::end(kWords)) {
      unknown += (unknown.empty() ? "" : ", ") + valid_utf8(trim(word));
      continue;
    }
    all = all || known->first == "all";
    for (const auto name : split(known->second, ',')) {
      const bool exists = !name.empty() && find_setting("backends") != nullptr &&
                          check_value(*find_setting("backends"), std::string(name), "").ok();
      if (exists) list += (list.empty() ? "" : ",") + std::string(name);
    }
  }
  if (!unknown.empty()) {
    warnings.push_back("-I: ignored, Sonde has no backend for: " + unknown);
  }
  Layer layer{"command line", {}};
  if (!all && !list.empty()) {
    layer.values.push_back({find_setting("backends"), list + ",cpu", "-I"});
  }
  return layer;
}

}  // namespace sonde::cli
