// Help texts, all printed from the Command values: for terminals, as markdown pages, man pages and
// shell completions.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "cli/command.h"

namespace sonde::cli {

using Commands = std::span<const Command>;

struct HelpStyle {
  size_t width = 0;  // 0 = not a terminal
  bool colour = false;
};

std::string overview_help(Commands commands, const HelpStyle& style);
std::string command_help(const Command& command, const HelpStyle& style);

std::string overview_markdown(Commands commands);
std::string command_markdown(const Command& command);

// analyses.md: the definition of every figure, from beside the code that computes it.
std::string analyses_markdown(Commands commands);

std::string overview_man(Commands commands);
std::string command_man(const Command& command);

std::string bash_completion(Commands commands);
std::string zsh_completion(Commands commands);

// "sonde top [OPTIONS] FILE"
std::string usage_of(const Command& command);
// "-o, --output FILE"
std::string option_heading(const Option& option);
// The help sentence with choices and default: "output format: text, csv or json [text]"
std::string option_help(const Option& option);
// The commands that stand for themselves, by the question they answer (verbs.h); one that verbs.h
// does not know comes last.
std::vector<std::pair<std::string, std::vector<const Command*>>> by_question(Commands commands);
// "sonde top is the same as sonde kernels --top." for a view, "" for others.
std::string said_of_view(const Command& command);
// Its definition, and what windows are where it takes one.
std::string whole_definition(const Command& command);
// Every command's option --help.
const Option& help_option();

}  // namespace sonde::cli
