#include <fmt/format.h>

#include "cli/help.h"
#include "cli/verbs.h"
#include "report/layout.h"
#include "trace/window.h"

namespace sonde::cli {
namespace {

constexpr size_t kWidth = 100;

// In a table cell a bar ends the cell, and < would begin a tag.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string overview_markdown(Commands commands) {
  std::string out = "# Commands of sonde\n";
  const auto add = [&](const Command& command) {
    out += fmt::format("| [{0}]({0}.md) | {1} |\n", command.name, cell(command.summary));
  };
  for (const auto& [name, members] : by_question(commands)) {
    out += fmt::format("\n## {}\n\n| command | what it does |\n|---|---|\n", name);
    for (const Command* command : members) add(*command);
  }
  out +=
      "\n## Views\n\nEach is an option of another command, and a command of its own under the name that RPD or "
      "an\nearlier version gave it: `sonde kernels --top` is `sonde top`, to the last figure.\n\n"
      "| view | of | what it shows |\n|---|---|---|\n";
  for (const Command& command : commands) {
    const std::string_view whole = whole_of(command.name);
    if (whole.empty()) continue;
    out += fmt::format("| [{0}]({0}.md) | [{1}]({1}.md) | {2} |\n", command.name, whole,
                       cell(command.summary));
  }
  out += "\n| command | what it does |\n|---|---|\n";
  for (const Command& command : commands) {
    if (command.name == "help") add(command);
  }
  out += "\nThese pages are printed by `sonde help --format markdown [COMMAND]`.\n";
  return out;
}

std::string command_markdown(const Command& command) {
  std::string out = fmt::format("# sonde {}\n\n", command.name);
  out += report::wrap(command.summary + ".", kWidth, 0);
  out += fmt::format("\n    {}\n", usage_of(command));
  if (!command.description.empty()) out += "\n" + report::wrap(command.description, kWidth, 0);
  const std::string view = said_of_view(command);
  if (!view.empty()) out += "\n" + report::wrap(view, kWidth, 0);
  if (!command.positionals.empty()) out += "\n| argument | |\n|---|---|\n";
  for (const Positional& positional : command.positionals) {
    out += fmt::format("| `{}` | {} |\n", positional.name, cell(positional.help));
  }
  if (!views_of(command.name).empty()) out += "\n| view | |\n|---|---|\n";
  for (const View& part : views_of(command.name)) {
    out += fmt::format("| [`--{0}`]({0}.md) | {1} |\n", part.name, part.what);
  }
  out += "\n| option | |\n|---|---|\n";
  for (const Option& option : command.options) {
    out += fmt::format("| `{}` | {} |\n", cell(option_heading(option)), cell(option_help(option)));
  }
  out += fmt::format("| `{}` | {} |\n", option_heading(help_option()), help_option().help);
  if (!command.definition.empty()) {
    out += "\n## What the figures mean\n\n" + report::wrap(whole_definition(command), kWidth, 0);
    out.pop_back();  // a definition ends its last line itself
  }
  if (!command.examples.empty()) out += "\n## Examples\n";
  for (const Example& example : command.examples) {
    out += fmt::format("\n    {}\n\n", example.command);
    out += report::wrap(example.explanation, kWidth, 0);
  }
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

std::string analyses_markdown(Commands commands) {
  std::string out =
      "# What the figures of the analyses mean\n\n"
      "One chapter for each analysis; `sonde NAME --explain` prints the same. The text stands beside "
      "the\ncode that computes the figures, and this page is made of it by the build.\n\n"
      "Times are integer nanoseconds and intervals are half-open: an operation of no length takes no "
      "time\nand overlaps nothing. JSON has them under keys that end in `_ns`.\n";
  for (const Command& command : commands) {
    if (command.definition.empty()) continue;
    out += fmt::format("\n## [{0}](commands/{0}.md)\n\n{1}.\n\n", command.name, command.summary);
    out += report::wrap(command.definition, kWidth, 0);
    out.pop_back();  // a definition ends its last line itself
  }
  out += "\n## Windows\n\n" + report::wrap(trace::kWindowDefinition, kWidth, 0);
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

}  // namespace sonde::cli
