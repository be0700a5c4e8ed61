#include "cli/settings.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/strings.h"
#include "cli/command_text.h"
#include "cli/config_file.h"
#include "cli/parser.h"
#include "cli/period.h"
#include "cli/rocprof_sys.h"
#include "monitor/metric.h"
#include "record/backend.h"

namespace sonde::cli {

namespace {

// Above these, samples would show the sampler, and metrics the cost of reading them.
constexpr int64_t kMostSampleHz = 10'000, kMostMetricsHz = 1000, kMostParts = 9999;

bool is_true(std::string_view text) {
  return text == "1" || text == "true" || text == "yes" || text == "on";
}
bool is_false(std::string_view text) {
  return text == "0" || text == "false" || text == "no" || text == "off";
}

bool is_number(const std::string& text, int64_t least, int64_t most) {
  const auto number = parse_int(text);
  return number && *number >= least && *number <= most;
}

bool known_backends(const std::string& text) {
  if (text == "all") return true;
  for (const auto name : split(text, ',')) {
    if (name != "none" && record::find_backend(name) == nullptr) return false;
  }
  return true;
}

// What a value of the type looks like; "" if `text` is one.
std::string complaint(const Setting& setting, const std::string& text) {
  switch (setting.type) {
    case SettingType::kFlag:
      return is_true(text) || is_false(text) ? "" : "true or false";
    case SettingType::kText:
      return text.empty() ? "a text that is not empty" : "";
    case SettingType::kChoice: {
      const auto& choices = setting.option.choices;
      if (std::find(choices.begin(), choices.end(), text) != choices.end()) return "";
      return fmt::format("one of {}", fmt::join(choices, ", "));
    }
    case SettingType::kRate:
      return text == "off" || is_number(text, 0, kMostSampleHz)
                 ? ""
                 : "samples per second, up to 10000, or off";
    case SettingType::kCount:
      return is_number(text, 1, kMostMetricsHz) ? "" : "times per second, from 1 to 1000";
    case SettingType::kSize: {
      const auto bytes = parse_size(text);
      return bytes && *bytes != 0 ? "" : "a size, like 512M or 4G";
    }
    case SettingType::kTime: {
      const auto time = parse_duration_ns(text, 1'000'000'000);
      return time && *time >= 0 ? "" : "a time, like 500ms or 30s";
    }
    case SettingType::kMetrics: {
      const auto selection = monitor::parse_selection(text);
      return selection ? ""
                       : selection.error().message + "; sonde avail --category metrics lists them";
    }
    case SettingType::kPeriod:
      return parse_period(text) ? ""
                                : "DELAY:LENGTH:RATE or DELAY:LENGTH:RATE:COUNT, like 1s:500ms:10s";
    case SettingType::kNumber:
      return is_number(text, 1, kMostParts) ? "" : "a number from 1 to 9999";
    case SettingType::kBackends:
      return known_backends(text) ? "" : "a backend that sonde doctor lists, or none";
  }
  return "";
}

// The layer, and below it what a preset named in it stands for.
void add_with_preset(std::vector<Layer>& layers, Layer layer) {
  Layer preset;
  for (const auto& value : layer.values) {
    if (value.setting->name() != "preset") continue;
    preset.name = "preset " + value.text + " of the " + layer.name;
    for (const Setting& setting : record_settings()) {
      const char* text = setting.in_preset(value.text);
      if (text != nullptr) preset.values.push_back({&setting, text, value.origin});
    }
  }
  layers.push_back(std::move(layer));
  if (!preset.name.empty()) layers.push_back(std::move(preset));
}

Layer command_line_layer(const Arguments& arguments) {
  Layer layer{"command line", {}};
  for (const Setting& setting : record_settings()) {
    const bool flag = setting.type == SettingType::kFlag;
    const std::string& off = setting.option.off;
    if (arguments.flag(setting.name())) {
      layer.values.push_back({&setting, flag ? "true" : arguments.value_or(setting.name(), ""),
                              longest_name(setting.option)});
    } else if (flag && arguments.flag(off.substr(2))) {
      layer.values.push_back({&setting, "false", off});
    }
  }
  return layer;
}

Layer environment_layer(const GetEnvironment& environment) {
  Layer layer{"environment", {}};
  for (const Setting& setting : record_settings()) {
    const char* text = environment(setting.environment().c_str());
    if (text != nullptr && *text != '\0') {
      layer.values.push_back({&setting, text, setting.environment()});
    }
  }
  return layer;
}

Resolved::Entry entry_of(const Setting& setting, const std::vector<Layer>& layers) {
  for (const Layer& layer : layers) {
    for (const SettingValue& value : layer.values) {
      if (value.setting != &setting) continue;
      const bool preset = layer.name.rfind("preset ", 0) == 0;
      return {&setting, value.text, layer.name, value.origin, false, preset};
    }
  }
  return {&setting, setting.option.fallback, "default", "", true, false};
}

Result<std::vector<Layer>> all_layers(const Arguments& arguments, const GetEnvironment& environment,
                                      std::vector<std::string>& warnings) {
  std::vector<Layer> layers;
  Layer command_line = command_line_layer(arguments);
  if (const auto words = arguments.value("include")) {
    for (auto& value : rocprof_sys_include(*words, warnings).values) {
      command_line.values.push_back(std::move(value));
    }
  }
  add_with_preset(layers, std::move(command_line));
  add_with_preset(layers, environment_layer(environment));
  const auto named = arguments.value("config");
  const std::string file = named ? *named : default_config_file(environment);
  std::error_code error;
  if (file != "none" && (named || std::filesystem::exists(file, error))) {
    SONDE_ASSIGN(Layer config, read_config_file(file));
    add_with_preset(layers, std::move(config));
  }
  if (const auto path = arguments.value("rocprof-sys-config")) {
    SONDE_ASSIGN(Layer layer, read_rocprof_sys_config(*path, warnings));
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

std::string Setting::name() const { return key_of(option); }

std::string Setting::environment() const {
  std::string text = "SONDE_" + name();
  for (char& c : text) c = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text;
}

const char* Setting::type_name() const {
  constexpr const char* kNames[] = {"flag", "text",    "choice",   "rate",   "number", "size",
                                    "time", "metrics", "backends", "period", "number"};
  return kNames[static_cast<size_t>(type)];
}

std::string Setting::sample_value() const {
  if (type == SettingType::kFlag) return "false";
  return *example != '\0' ? example : option.fallback;
}

const char* Setting::in_preset(std::string_view preset) const {
  if (preset == "light") return light;
  if (preset == "training") return training;
  return preset == "everything" ? everything : nullptr;
}

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : record_settings()) {
    if (setting.name() == name) return &setting;
  }
  return nullptr;
}

std::vector<Option> setting_options() {
  std::vector<Option> options;
  for (const Setting& setting : record_settings()) options.push_back(setting.option);
  for (Option& option : read_options(R"(
--config FILE  read settings from this file; or none [$SONDE_CONFIG or ~/.config/sonde/config.toml]
--rocprof-sys-config FILE  take what has a counterpart from a config file of ROCm Systems Profiler
    [none]
-I, --include LIST  backends by the names that ROCm Systems Profiler has for them, e.g. rocm,ompt
    [all]
)")) {
    options.push_back(std::move(option));
  }
  return options;
}

Status check_value(const Setting& setting, const std::string& text, const std::string& origin) {
  const std::string wanted = complaint(setting, text);
  if (wanted.empty()) return ok_status();
  return make_error(ErrorCode::kInvalidArgument, "'" + valid_utf8(text) + "' is not a valid value",
                    origin, wanted);
}

const Resolved::Entry& Resolved::entry(std::string_view name) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& each) { return each.setting->name() == name; });
  SONDE_CHECK(found != entries.end());
  return *found;
}

Result<Resolved> resolve(const Arguments& arguments, const GetEnvironment& environment) {
  Resolved resolved;
  SONDE_ASSIGN(const auto layers, all_layers(arguments, environment, resolved.warnings));
  resolved.arguments = arguments;
  for (const Layer& layer : layers) {
    // Every given value must be valid, even one that another overrides.
    for (const auto& value : layer.values) {
      SONDE_TRY(check_value(*value.setting, value.text, value.origin));
    }
  }
  for (const Setting& setting : record_settings()) {
    resolved.entries.push_back(entry_of(setting, layers));
    const auto& entry = resolved.entries.back();
    if (entry.is_default) continue;
    if (setting.type == SettingType::kFlag) {
      resolved.arguments.set_flag(setting.name(), is_true(entry.value));
    } else {
      resolved.arguments.set(setting.name(), entry.value);
    }
  }
  return resolved;
}

std::string default_config_file(const GetEnvironment& environment) {
  const char* file = environment("SONDE_CONFIG");
  if (file != nullptr && *file != '\0') return file;
  const char* folder = environment("XDG_CONFIG_HOME");
  if (folder != nullptr && *folder == '/') return std::string(folder) + "/sonde/config.toml";
  const char* home = environment("HOME");
  if (home == nullptr || *home != '/') return "";
  return std::string(home) + "/.config/sonde/config.toml";
}

}  // namespace sonde::cli
