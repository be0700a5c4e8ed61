#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/parser.h"
#include "report/layout.h"

namespace sonde::cli {

const Option& help_option() {
  static const Option kHelp{"-h,--help", "", "print this help", ""};
  return kHelp;
}

std::string usage_of(const Command& command) {
  std::string usage = "sonde " + command.name + " [OPTIONS]";
  for (const Positional& positional : command.positionals) {
    const std::string name = positional.name + (positional.repeated ? "..." : "");
    usage += positional.required ? " " + name : " [" + name + "]";
  }
  if (command.takes_command_line) usage += " [--] COMMAND...";
  return usage;
}

std::string option_heading(const Option& option) {
  std::string heading;
  for (const std::string& name : names_of(option)) heading += (heading.empty() ? "" : ", ") + name;
  return option.value.empty() ? heading : heading + " " + option.value;
}

std::string option_help(const Option& option) {
  std::string help = option.help;
  if (!option.choices.empty()) {
    help += ": ";
    for (size_t i = 0; i < option.choices.size(); ++i) {
      if (i != 0) help += i + 1 == option.choices.size() ? " or " : ", ";
      help += option.choices[i];
    }
  }
  if (option.repeated) help += "; may be given several times";
  return option.fallback.empty() ? help : help + " [" + option.fallback + "]";
}

std::vector<std::pair<std::string, std::vector<const Command*>>> by_group(Commands commands) {
  std::vector<std::pair<std::string, std::vector<const Command*>>> groups;
  for (const char* name : {"Record", "Ask", "Export", "Maintain"}) groups.push_back({name, {}});
  for (const Command* command : commands) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& g) { return g.first == command->group; });
    if (group == groups.end()) {
      groups.push_back({command->group, {}});
      group = std::prev(groups.end());
    }
    group->second.push_back(command);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.empty(); });
  return groups;
}

namespace {

std::string heading(std::string_view text, const HelpStyle& style) {
  return style.colour ? fmt::format("\x1b[1m{}\x1b[0m\n", text) : fmt::format("{}\n", text);
}

// "  left    right", the right side wrapped under itself; a long left side gets a line of its own.
void append_row(std::string& out, const std::string& left, const std::string& right,
                size_t left_width, size_t width) {
  const size_t column = left_width + 4;
  if (left.size() > left_width) {
    out += "  " + left + "\n" + std::string(column, ' ');
  } else {
    out += "  " + report::pad(left, left_width + 2, false);
  }
  // Wrapping with an indent counts the first line as indented, too.
  const size_t room = width > column + 20 ? width - column : 20;
  const std::string wrapped = report::wrap(right, room, 0);
  for (const char c : wrapped) {
    out += c;
    if (c == '\n') out += std::string(column, ' ');
  }
  out.resize(out.size() - column);
}

size_t text_width(const HelpStyle& style) {
  return style.width == 0 ? 80 : std::min<size_t>(style.width, 100);
}

}  // namespace

std::string overview_help(Commands commands, const HelpStyle& style) {
  const size_t width = text_width(style);
  std::string out = report::wrap(
      "Sonde records what a program did on its CPUs and GPUs into one SQLite file and answers "
      "questions about it.",
      width, 0);
  out += "\n" + heading("Usage", style) + "  sonde COMMAND [OPTIONS] ...\n";
  size_t left = 0;
  for (const Command* command : commands) left = std::max(left, command->name.size());
  for (const auto& [name, members] : by_group(commands)) {
    out += "\n" + heading(name, style);
    for (const Command* command : members) {
      append_row(out, command->name, command->summary, left, width);
    }
  }
  out += "\n" + heading("Options", style);
  append_row(out, "-h, --help", "print this help, or with a command its own", 13, width);
  append_row(out, "-V, --version", "print the version", 13, width);
  out += "\nsonde COMMAND --help explains a command.\n";
  return out;
}

std::string command_help(const Command& command, const HelpStyle& style) {
  const size_t width = text_width(style);
  std::string out = heading("Usage", style) + "  " + usage_of(command) + "\n\n";
  out += report::wrap(command.summary + ".", width, 0);
  if (!command.description.empty()) out += "\n" + report::wrap(command.description, width, 0);
  constexpr size_t kLeft = 20;
  if (!command.positionals.empty()) {
    out += "\n" + heading("Arguments", style);
    for (const Positional& positional : command.positionals) {
      append_row(out, positional.name, positional.help, kLeft, width);
    }
  }
  out += "\n" + heading("Options", style);
  for (const Option& option : command.options) {
    append_row(out, option_heading(option), option_help(option), kLeft, width);
  }
  append_row(out, option_heading(help_option()), help_option().help, kLeft, width);
  if (!command.examples.empty()) out += "\n" + heading("Examples", style);
  for (const Example& example : command.examples) {
    out += "  " + example.command + "\n";
    append_row(out, "", example.explanation, 2, width);
  }
  return out;
}

}  // namespace sonde::cli
