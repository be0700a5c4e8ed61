#include "cli/help.h"

#include <unistd.h>

#include "cli/common.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "report/layout.h"

namespace sonde::cli {
namespace {

std::string overview(const std::string& format) {
  const Commands commands = all_commands();
  if (format == "markdown") return overview_markdown(commands);
  if (format == "man") return overview_man(commands);
  if (format == "bash") return bash_completion(commands);
  if (format == "zsh") return zsh_completion(commands);
  if (format == "analyses") return analyses_markdown(all_commands());
  return overview_help(
      commands, {report::terminal_width(STDOUT_FILENO), report::wants_colour(STDOUT_FILENO)});
}

Result<int> run(const Arguments& arguments) {
  const std::string format = arguments.value_or("format", "text");
  const bool is_overview = format == "bash" || format == "zsh" || format == "analyses";
  if (arguments.positionals().empty() || is_overview) {
    SONDE_TRY(write_stdout(overview(format)));
    return 0;
  }
  const std::string& name = arguments.positionals()[0];
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    names.push_back(command.name);
    if (command.name != name) continue;
    const HelpStyle style = {report::terminal_width(STDOUT_FILENO),
                             report::wants_colour(STDOUT_FILENO)};
    SONDE_TRY(write_stdout(format == "markdown" ? command_markdown(command)
                           : format == "man"    ? command_man(command)
                                                : command_help(command, style)));
    return 0;
  }
  const std::string near = nearest(name, names);
  return make_error(ErrorCode::kInvalidArgument, "unknown command '" + name + "'", {},
                    near.empty() ? "" : "did you mean " + near + "?");
}

constexpr const char* kText = R"(
help - Explain a command, or print its page for docs, man or a shell's completion

Without a command this is sonde --help. When Sonde is built, this command prints the man pages, the
markdown pages (share/doc/sonde) and the completions of bash and zsh.

Arguments:
[COMMAND]  the command to explain

Options:
--format FORMAT=text|markdown|man|bash|zsh|analyses  what to print [text]

Examples:
sonde help top  the same as sonde top --help
source <(sonde help --format bash)  completion for this bash; zsh takes its own likewise
)";

}  // namespace

Command help_command() { return make_command(kText, run); }

}  // namespace sonde::cli
