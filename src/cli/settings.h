// The settings of a recording: one table of them, from which the options of `sonde record`, its
// environment variables, the config file, the presets, `sonde config` and `sonde avail` are made.
//
// A value comes from the first of these that has one:
//   1. the command line            5. the config file
//   2. a preset named there        6. a preset named there
//   3. the environment             7. a config file of ROCm Systems Profiler
//   4. a preset named there        8. the default
// So a preset stands for its values at the place where it is named.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace sonde::cli {

enum class SettingType {
  kFlag,
  kText,
  kChoice,
  kRate,
  kCount,
  kSize,
  kTime,
  kMetrics,
  kBackends,
  kPeriod,
  kNumber
};

struct Setting {
  Option option;  // its longest name is the setting's
  SettingType type;
  const char* category;
  const char* example = "";  // a value, where the default is none
  // In the presets; nullptr: the default.
  const char* light = nullptr;
  const char* training = nullptr;
  const char* everything = nullptr;

  std::string name() const;         // "metrics-hz"
  std::string environment() const;  // "SONDE_METRICS_HZ"
  const char* type_name() const;
  // Its default, or else an example.
  std::string sample_value() const;
  const char* in_preset(std::string_view preset) const;  // nullptr: it does not say
};

std::span<const Setting> record_settings();
const Setting* find_setting(std::string_view name);
// The options of a command that takes the settings: theirs, and --config and the like.
std::vector<Option> setting_options();

// "'fast' is not a valid value (...)" if the setting cannot have the text as its value. `origin` is
// where it stands.
Status check_value(const Setting& setting, const std::string& text, const std::string& origin);

// What one place says: a file, the environment ...
struct SettingValue {
  const Setting* setting;
  std::string text;
  std::string origin;  // "--sample", "SONDE_SAMPLE", "sonde.toml:7"
};
struct Layer {
  std::string name;  // "command line", "environment", "config file" ...
  std::vector<SettingValue> values;
};

struct Resolved {
  struct Entry {
    const Setting* setting;
    std::string value;   // "" and is_default: what the setting calls its default
    std::string layer;   // "command line", "preset light of the environment", "default"
    std::string origin;  // "" for a default
    bool is_default = true, is_preset = false;
  };
  std::vector<Entry> entries;  // one for each setting, in the order of the table
  std::vector<std::string> warnings;
  Arguments arguments;  // with all the values, for code that only reads these
  const Entry& entry(std::string_view name) const;
};

// Values of a variable of the environment, nullptr if it is not set.
using GetEnvironment = std::function<const char*(const char*)>;

Result<Resolved> resolve(const Arguments& arguments, const GetEnvironment& environment);

// The file that is read without --config: $SONDE_CONFIG, $XDG_CONFIG_HOME/sonde/config.toml or
// ~/.config/sonde/config.toml; "" if there is no home.
std::string default_config_file(const GetEnvironment& environment);

}  // namespace sonde::cli
