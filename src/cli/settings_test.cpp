#include "cli/settings.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "base/test_support.h"
#include "cli/config_file.h"

namespace sonde::cli {
namespace {

using Variables = std::map<std::string, std::string>;

GetEnvironment environment_of(const Variables& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

// A value that is right and is not `other`.
std::string another_value(const Setting& setting, const std::string& other) {
  const char* kTries[] = {"true",    "false", "7",      "9",     "64M",      "5s",
                          "7s",      "tsc",   "best",   "none",  "cpu",      "all",
                          "command", "grow",  "drop",   "light", "training", "1",
                          "2",       "wall",  "python", "off",   "1:1:9",    "1s:2s:3s:4"};
  for (const char* text : kTries) {
    if (text != other && check_value(setting, text, "")) return text;
  }
  ADD_FAILURE() << "no value for " << setting.name();
  return "";
}

TEST(Settings, EachHasANameAVariableAndGoodExamples) {
  std::set<std::string> names;
  for (const Setting& setting : record_settings()) {
    EXPECT_TRUE(names.insert(setting.name()).second) << setting.name();
    EXPECT_EQ(setting.environment().find_first_of("abcdefghijklmnopqrstuvwxyz-"),
              std::string::npos);
    EXPECT_TRUE(check_value(setting, setting.sample_value(), "").ok()) << setting.name();
    for (const char* value : {setting.light, setting.training, setting.everything}) {
      if (value == nullptr) continue;
      EXPECT_TRUE(check_value(setting, value, "").ok()) << setting.name();
    }
    EXPECT_FALSE(setting.option.help.empty());
  }
}

// For every setting: command line before environment before config file before default.
TEST(Settings, EachComesFromTheFirstPlaceThatHasIt) {
  test::TemporaryDirectory folder;
  for (const Setting& setting : record_settings()) {
    if (setting.name() == "preset") continue;  // it has values of its own at every place
    const bool flag = setting.type == SettingType::kFlag;
    const std::string in_file = another_value(setting, "");
    const std::string in_environment = flag ? "false" : another_value(setting, in_file);
    const std::string on_command_line = flag ? "true" : in_file;
    const std::string file = folder / "c.toml";
    std::ofstream(file) << "[" << setting.category << "]\n"
                        << setting.name() << " = " << (flag ? in_file : "\"" + in_file + "\"")
                        << "\n";
    Variables variables = {{"HOME", folder.path()}};
    const auto value = [&](const Arguments& arguments) {
      const auto resolved = test::value_of(resolve(arguments, environment_of(variables)));
      const auto& entry = resolved.entry(setting.name());
      return entry.layer + ": " + entry.value;
    };
    Arguments arguments;
    EXPECT_EQ(value(arguments), "default: " + setting.option.fallback) << setting.name();
    arguments.set("config", file);
    EXPECT_EQ(value(arguments), "config file: " + in_file) << setting.name();
    variables[setting.environment()] = in_environment;
    EXPECT_EQ(value(arguments), "environment: " + in_environment) << setting.name();
    Arguments taken_back = arguments;
    arguments.set(setting.name(), on_command_line);
    EXPECT_EQ(value(arguments), "command line: " + on_command_line) << setting.name();
    ASSERT_EQ(setting.option.off.empty(), !flag) << setting.name();
    if (!flag) continue;
    variables[setting.environment()] = "true";
    taken_back.set_flag(setting.option.off.substr(2), true);
    EXPECT_EQ(value(taken_back), "command line: false") << setting.name();
  }
}

TEST(Settings, AFlagIsTakenBackByTheEnvironmentAndTheCommandLine) {
  test::TemporaryDirectory folder;
  std::ofstream(folder / "c.toml") << "[output]\nquiet = true\n";
  Variables variables;
  Arguments arguments;
  arguments.set("config", folder / "c.toml");
  EXPECT_TRUE(resolve(arguments, environment_of(variables))->arguments.flag("quiet"));
  variables["SONDE_QUIET"] = "off";
  EXPECT_FALSE(resolve(arguments, environment_of(variables))->arguments.flag("quiet"));
  variables["SONDE_QUIET"] = "on";
  EXPECT_TRUE(resolve(arguments, environment_of(variables))->arguments.flag("quiet"));
  arguments.set_flag("no-quiet", true);
  EXPECT_FALSE(resolve(arguments, environment_of(variables))->arguments.flag("quiet"));
}

TEST(ConfigFile, WhatIsWrittenIsRead) {
  test::TemporaryDirectory folder;
  for (const char* preset : {"", "light", "training", "everything"}) {
    const std::string file = folder / "c.toml";
    std::ofstream(file) << config_text(preset);
    const auto layer = test::value_of(read_config_file(file));
    size_t expected = 0;
    for (const Setting& setting : record_settings()) {
      const char* value = *preset == 'l'   ? setting.light
                          : *preset == 't' ? setting.training
                          : *preset == 'e' ? setting.everything
                                           : nullptr;
      expected += value != nullptr ? 1 : 0;
    }
    EXPECT_EQ(layer.values.size(), expected) << preset;
  }
}

TEST(ConfigFile, NestedTablesAndFoldersAreErrors) {
  test::TemporaryDirectory folder;
  std::ofstream(folder / "c.toml") << "[metrics.deep]\nx = 1\n";
  const auto nested = read_config_file(folder / "c.toml");
  ASSERT_FALSE(nested);
  EXPECT_TRUE(test::has(nested.error().to_line(), "no such setting: deep"));
  EXPECT_FALSE(read_config_file(folder.path()));
  EXPECT_FALSE(read_config_file(folder / "none"));
}

}  // namespace
}  // namespace sonde::cli
