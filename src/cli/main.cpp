// sonde COMMAND [ARGUMENTS]: finds the command, parses its command line, runs it, prints the error.
// Exit status: the command's own; 1 if something failed; 2 for wrong usage.
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <new>

#include "base/quoted.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/help.h"
#include "cli/next_step.h"
#include "cli/parser.h"
#include "cli/suggest.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/layout.h"
#include "store/reader.h"

namespace sonde::cli {
namespace {

const Command* find_command(std::string_view name) {
  for (const Command& command : all_commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

int finish(const Status& status) {
  if (status) return 0;
  print_error_line(status.error().to_line());
  return 1;
}

HelpStyle style_of_stdout() {
  return {report::terminal_width(STDOUT_FILENO), report::wants_colour(STDOUT_FILENO)};
}

// A file where a command was expected: what to do with it.
std::string hint_for_file(const std::string& word) {
  if (::access(word.c_str(), F_OK) != 0) return {};
  const bool runs = word.find('/') != word.npos && ::access(word.c_str(), X_OK) == 0;
  std::error_code error;
  if (std::filesystem::is_directory(word, error)) return {};
  return runs ? "to record it: sonde record " + shell_word(word)
              : "it is a file; to see what takes its time: sonde check " + shell_word(word);
}

int unknown_command(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) names.push_back(command.name);
  const std::string near = nearest(word, names);
  const bool option = word.size() > 1 && word[0] == '-';
  Error error = make_error(ErrorCode::kInvalidArgument,
                           (option ? "unknown option '" : "unknown command '") + word + "'");
  error.hint = hint_for_file(word);
  if (error.hint.empty()) {
    error.hint = near.empty() ? "sonde --help lists the commands" : "did you mean " + near + "?";
  }
  return usage_error("", error);
}

int run_command(const Command& command, std::span<const std::string> words) {
  const auto parsed = parse(command, words);
  if (!parsed) return usage_error(command.name, parsed.error());
  if (parsed->wants_help) {
    return finish(write_stdout(command_help(command, style_of_stdout())));
  }
  const Arguments& arguments = parsed->arguments;
  const bool is_question =
      arguments.flag("explain") && arguments.positionals().empty() && !command.definition.empty();
  const Result<int> status =
      is_question ? print_definition(command.definition) : command.run(arguments);
  if (status) return *status;
  if (status.error().code == ErrorCode::kInvalidArgument) {
    return usage_error(command.name, status.error());
  }
  return finish(status.error());
}

// `sonde` alone: what the newest trace of the folder says, if there is one.
int without_words() {
  const std::string path = newest_trace(".");
  if (path.empty()) {
    return usage_error("", make_error(ErrorCode::kInvalidArgument, "no command given", {},
                                      "sonde --help lists the commands"));
  }
  auto reader = store::Reader::open(path);
  if (!reader) return finish(reader.error());
  const auto lines = next_steps(*reader, path);
  if (!lines) return finish(lines.error());
  std::string text = path + " is the newest trace here\n";
  for (const std::string& line : *lines) text += line + "\n";
  return finish(write_stdout(text + "sonde --help lists the commands\n"));
}

int run(std::span<const std::string> words) {
  if (words.empty()) return without_words();
  const std::string& first = words[0];
  if (first == "--help" || first == "-h") {
    return finish(write_stdout(overview_help(all_commands(), style_of_stdout())));
  }
  if (first == "--version" || first == "-V") {
    return finish(write_stdout("sonde " SONDE_VERSION "\n"));
  }
  const Command* command = find_command(first);
  if (command == nullptr) return unknown_command(first);
  std::vector<std::string> rest(words.begin() + 1, words.end());
  const std::string meant = take_view(first, command->takes_command_line, rest);
  return run_command(meant == first ? *command : *find_command(meant), rest);
}

}  // namespace
}  // namespace sonde::cli

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  try {
    return sonde::cli::run(words);
  } catch (const std::bad_alloc&) {
    sonde::cli::print_error_line("out of memory (--from and --to read a part of the trace)");
  } catch (const std::exception& error) {
    sonde::cli::print_error_line(std::string("unexpected failure: ") + error.what());
  }
  return 1;
}
