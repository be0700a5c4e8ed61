// The command line of one command, parsed by CLI11 as its Command value says. Only parser.cpp knows
// CLI11.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace sonde::cli {

struct Parsed {
  bool wants_help = false;  // --help was given; nothing was checked
  Arguments arguments;
};

// `words` is what stands after the command's name. An Error is wrong usage: its message says which
// word is wrong and, for a mistyped option, which one is near.
Result<Parsed> parse(const Command& command, std::span<const std::string> words);

// "--from" of "-f,--from": the name by which an option is known, with and without dashes.
std::string longest_name(const Option& option);
std::string key_of(const Option& option);
// All names, and what takes it back.
std::vector<std::string> names_of(const Option& option);

}  // namespace sonde::cli
