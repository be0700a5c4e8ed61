#include "cli/help.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/parser.h"
#include "cli/verbs.h"
#include "report/layout.h"
#include "trace/window.h"

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
  const std::string heading = fmt::format("{}", fmt::join(names_of(option), ", "));
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

std::vector<std::pair<std::string, std::vector<const Command*>>> by_question(Commands commands) {
  std::vector<std::pair<std::string, std::vector<const Command*>>> groups;
  const auto add = [&](const std::string& question, const Command* command) {
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& known) { return known.first == question; });
    if (group == groups.end()) group = groups.insert(groups.end(), {question, {}});
    group->second.push_back(command);
  };
  std::vector<const Command*> others;
  for (const Command& command : commands) others.push_back(&command);
  for (const Verb& verb : shown_verbs()) {
    const auto found = std::find_if(others.begin(), others.end(), [&](const Command* command) {
      return command->name == verb.name;
    });
    if (found == others.end()) continue;
    add(verb.question, *found);
    others.erase(found);
  }
  for (const Command* command : others) {
    const bool is_said = !whole_of(command->name).empty() || command->name == "help";
    if (!is_said) add("More", command);
  }
  return groups;
}

std::string said_of_view(const Command& command) {
  const std::string_view whole = whole_of(command.name);
  if (whole.empty()) return {};
  return fmt::format("sonde {0} is the same as sonde {1} --{0}.", command.name, whole);
}

std::string whole_definition(const Command& command) {
  const auto is_window = [](const Option& option) { return option.names == "--from"; };
  const auto& options = command.options;
  const bool takes_window = std::any_of(options.begin(), options.end(), is_window);
  return command.definition + (takes_window ? std::string("\n") + trace::kWindowDefinition : "");
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
    out += "  " + report::wrap(left, width - 2, 2) + std::string(column, ' ');
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
  for (const Verb& verb : shown_verbs()) left = std::max(left, std::string_view(verb.name).size());
  for (const auto& [name, members] : by_question(commands)) {
    out += "\n" + heading(name, style);
    for (const Command* command : members) {
      append_row(out, command->name, command->summary, left, width);
    }
  }
  out += "\n" + heading("Options", style);
  append_row(out, "-h, --help", "print this help, or with a command its own", 13, width);
  append_row(out, "-V, --version", "print the version", 13, width);
  out += "\n" + report::wrap(
                    "sonde COMMAND --help explains a command and its views: sonde kernels --top is "
                    "also sonde top.",
                    width, 0);
  std::string views;
  for (const Verb& verb : shown_verbs()) {
    for (const View& view : verb.views) {
      views += (views.empty() ? "" : ", ") + std::string(view.name);
    }
  }
  out += report::wrap("Views: " + views + ".", width, 0);
  return out;
}

std::string command_help(const Command& command, const HelpStyle& style) {
  const size_t width = text_width(style);
  std::string out = heading("Usage", style) + "  " + usage_of(command) + "\n\n";
  out += report::wrap(command.summary + ".", width, 0);
  if (!command.description.empty()) out += "\n" + report::wrap(command.description, width, 0);
  const std::string view = said_of_view(command);
  if (!view.empty()) out += "\n" + report::wrap(view, width, 0);
  constexpr size_t kLeft = 20;
  if (!command.positionals.empty()) {
    out += "\n" + heading("Arguments", style);
    for (const Positional& positional : command.positionals) {
      append_row(out, positional.name, positional.help, kLeft, width);
    }
  }
  const auto& views = views_of(command.name);
  if (!views.empty()) out += "\n" + heading("Views", style);
  for (const View& part : views) {
    append_row(out, fmt::format("--{}", part.name),
               fmt::format("{}; its options: sonde {} --help", part.what, part.name), kLeft, width);
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
