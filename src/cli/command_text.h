// Commands as their files write them: as text, laid out like their help. From it come help, pages
// and completion, and the parser of the command line.
//
//   trim - Keep a part of a trace, as a smaller .rpd
//
//   Paragraphs of the description. A line that begins with a blank or "- " stands for itself.
//
//   Arguments:
//   FILE  what it is                 required
//   [WHICH...]  what it is           may be left out, and given several times
//   [--] COMMAND...                  takes the rest as a command line
//
//   Options:
//   -o, --output FILE  what it does, and, when the line is full,
//       on the next [the default]
//   --in-place  a flag
//   --by WHAT=kernel|dispatch  has these values only
//   --env K=V...  may be given several times
//   --from --to --format             as other commands have them
//   --limit  [all]                   likewise, with another default
//
//   Examples:
//   sonde trim trace.rpd --to 30%  what it is for
//   sonde trim trace.rpd -o end.rpd --from 20% --to 30%
//       or on the next line
//
// Two blanks or a line end separate a name from its help.
#pragma once

#include <string_view>

#include "cli/command.h"

namespace sonde::cli {

// `known` has the options that the text only names.
Command read_command(std::string_view text, const Command& known);
std::vector<Option> read_options(std::string_view text, std::span<const Option> known = {});

}  // namespace sonde::cli
