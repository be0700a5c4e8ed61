// sonde config: shows, writes, checks and explains the settings of a recording.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/unique_fd.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/config_file.h"
#include "cli/help.h"
#include "cli/parser.h"
#include "cli/settings.h"
#include "cli/terminal.h"

namespace sonde::cli {

namespace {

using namespace report::columns;

// The file that is meant: a positional, or the one that is read by default.
Result<std::string> file_of(const Arguments& arguments) {
  if (!arguments.positionals().empty()) return arguments.positionals()[0];
  const std::string file = arguments.value_or("config", default_config_file(::getenv));
  if (!file.empty() && file != "none") return file;
  return make_error(ErrorCode::kInvalidArgument, "no file was given, and HOME is not set");
}

Result<int> write_config(const Arguments& arguments) {
  const std::string text = config_text(arguments.value_or("preset", ""));
  if (!arguments.positionals().empty() && arguments.positionals()[0] == "-") {
    SONDE_TRY(write_stdout(text));
    return 0;
  }
  SONDE_ASSIGN(const std::string path, file_of(arguments));
  std::error_code error;
  const auto folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  const int replace = arguments.flag("force") ? O_TRUNC : O_EXCL;
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | replace, 0644));
  if (!fd.valid() && errno == EEXIST) {
    return make_error(ErrorCode::kIo, "already exists", path, "--force replaces it");
  }
  if (!fd.valid() ||
      ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return errno_error("cannot be written", path, errno);
  }
  SONDE_TRY(write_stdout(path + ": written; sonde config --check checks it\n"));
  return 0;
}

Result<int> check_config(const Arguments& arguments) {
  SONDE_ASSIGN(const std::string path, file_of(arguments));
  SONDE_ASSIGN(const Layer layer, read_config_file(path));
  SONDE_TRY(write_stdout(fmt::format("{}: valid; sets {} of {} settings\n", path,
                                     layer.values.size(), record_settings().size())));
  return 0;
}

Result<int> explain(const Arguments& arguments) {
  const auto& names = arguments.positionals();
  std::string text;
  for (const Setting& setting : record_settings()) {
    if (!names.empty() && setting.name() != names[0]) continue;
    const auto value = [](const char* preset) {
      return preset == nullptr ? "as by default" : preset;
    };
    text += fmt::format(
        "{} ({}, {})\n    {}\n    default: {}\n    option: {}\n    variable: {}\n"
        "    presets: light {}, training {}, everything {}\n",
        setting.name(), setting.type_name(), setting.category, setting.option.help,
        setting.option.fallback.empty() ? "none" : setting.option.fallback,
        option_heading(setting.option), setting.environment(), value(setting.light),
        value(setting.training), value(setting.everything));
  }
  if (text.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "no such setting: " + names[0], "",
                      "sonde avail --category settings lists them");
  }
  SONDE_TRY(write_stdout(text));
  return 0;
}

Result<int> show(const Arguments& arguments) {
  SONDE_ASSIGN(const Resolved resolved, resolve(arguments, ::getenv));
  report::Report report;
  report.name = "config";
  report.subject = "sonde record";
  report.warnings = resolved.warnings;
  report::Section section{.key = "settings", .title = "Settings"};
  section.table.add_columns(
      {text("name", "Name"), text("value", "Value"), text("from", "From"), text("where", "Where")});
  for (const auto& entry : resolved.entries) {
    const bool flag = entry.setting->type == SettingType::kFlag;
    section.table.add_row({entry.setting->name(), flag && entry.is_default ? "false" : entry.value,
                           entry.layer, entry.origin});
  }
  report.sections.push_back(std::move(section));
  return print_report(arguments, std::move(report), 0);
}

Result<int> run(const Arguments& arguments) {
  if (arguments.flag("write")) return write_config(arguments);
  if (arguments.flag("check")) return check_config(arguments);
  if (arguments.flag("explain")) return explain(arguments);
  return show(arguments);
}

constexpr const char* kText = R"(
config - Show, write, check and explain the settings of a recording

Without a flag, or with --show, lists the value that every setting of sonde record would have, and
where it comes from. You can add any option of sonde record to see what it changes.

A value comes from the command line, from the environment (--metrics-hz is SONDE_METRICS_HZ), from
the config file, or is the default, in this order. A preset stands for its values at the place where
it is named: one on the command line comes before the environment, one in the config file after
everything else in the file.

The config file is TOML. It is the one that --config or SONDE_CONFIG names, or
~/.config/sonde/config.toml. --write makes one with all settings, explained; nothing is overwritten
without --force. A wrong key or value is an error with its line number.

Arguments:
[WHAT]  the file to --write (- is stdout) or --check, or the setting to --explain

Options:
--show  list the values and where they come from
--write  write a config file with all settings
--force  --write replaces a file
--check  read a config file and say what is wrong with it
--explain  say what the settings mean
--format --table

Examples:
sonde config  what a recording would do here
sonde config --write --preset training  a config file for training runs
sonde config --check sonde.toml  is it valid?
sonde config --explain sample  one setting
)";

}  // namespace

Command config_command() {
  Command command = make_command(kText, run);
  command.options = joined(std::move(command.options), setting_options());
  return command;
}

}  // namespace sonde::cli
