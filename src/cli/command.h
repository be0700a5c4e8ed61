// A command of the sonde tool is a value: what it is called, what it takes, how it is explained,
// and the function that runs it. Help text, man page, docs page and shell completion are all
// printed from this value, so they cannot disagree. A new command is a file in cli/commands/ that
// defines `Command NAME_command()`; the build finds it. Most of the value is read from a text
// (cli/command_text.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sonde::cli {

struct Option {
  std::string names;                      // "-o,--output": as CLI11 takes them
  std::string value;                      // "FILE", or "" for a flag
  std::string help;                       // one sentence, no full stop
  std::string fallback;                   // shown as the default; "" = none
  std::vector<std::string> choices = {};  // allowed values; empty = any
  bool stands_alone = false;              // with it the required positionals may be left out
  bool repeated = false;                  // may be given several times: values("env")
  std::string off = {};                   // "--no-quiet": takes a flag back; "" = none
};

struct Positional {
  std::string name;  // "FILE"
  std::string help;
  bool required = true;
  bool repeated = false;  // takes all that is left
};

struct Example {
  std::string command;
  std::string explanation;
};

// The parsed command line of one command. Option names are given without dashes, by the longest
// name: value("output").
class Arguments {
 public:
  bool flag(std::string_view name) const { return values_.count(std::string(name)) != 0; }
  std::optional<std::string> value(std::string_view name) const;
  std::string value_or(std::string_view name, std::string_view fallback) const;
  // All values of a repeated option, in order.
  std::vector<std::string> values(std::string_view name) const;
  const std::vector<std::string>& positionals() const { return positionals_; }
  // What stood after "--" (sonde record -- COMMAND ...).
  const std::vector<std::string>& command_line() const { return command_line_; }
  // Sets an option as if it had been given.
  void set(const std::string& name, std::string value) { values_[name] = {std::move(value)}; }
  void set_flag(const std::string& name, bool on) {
    if (on) values_[name] = {""};
    if (!on) values_.erase(name);
  }

 private:
  friend struct Parser;
  std::map<std::string, std::vector<std::string>> values_;
  std::vector<std::string> positionals_;
  std::vector<std::string> command_line_;
};

struct Command {
  std::string name;
  std::string summary;      // one line
  std::string description;  // paragraphs, separated by empty lines
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::vector<Example> examples;
  bool takes_command_line = false;  // everything from the first non-option or "--" on
  std::function<Result<int>(const Arguments&)> run;  // exit status
  // What the figures mean: --explain, and a chapter of the docs page.
  std::string definition = {};
};

// Generated from the files of cli/commands/.
std::span<const Command> all_commands();

}  // namespace sonde::cli
