// Completion for bash and zsh, printed from the Command values.
#include <fmt/ranges.h>

#include "cli/help.h"
#include "cli/parser.h"

namespace sonde::cli {
namespace {

std::string option_words(const Command& command) {
  std::string words;
  for (const Option& option : command.options) {
    for (const std::string& name : names_of(option)) words += name + " ";
  }
  return words + "-h --help";
}

// The patterns of a case for the option's names: "-o|--output".
std::string case_pattern(const Option& option) {
  std::string pattern;
  for (const char c : option.names) pattern += c == ',' ? '|' : c;
  return pattern;
}

bool takes_file(const Option& option) {
  return option.value == "FILE" || option.value == "DIR" || option.value == "PREFIX";
}

void append_bash_command(std::string& out, const Command& command) {
  out += fmt::format("    {})\n", command.name);
  std::string cases;
  for (const Option& option : command.options) {
    if (option.value.empty()) continue;
    std::string reply = "COMPREPLY=($(compgen -f -- \"$current\"))";
    if (!option.choices.empty()) {
      reply = fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))",
                          fmt::join(option.choices, " "));
    } else if (!takes_file(option)) {
      reply = "COMPREPLY=()";
    }
    cases += fmt::format("        {}) {}; return ;;\n", case_pattern(option), reply);
  }
  if (!cases.empty()) out += "      case $previous in\n" + cases + "      esac\n";
  out += fmt::format("      options='{}' ;;\n", option_words(command));
}

// Text inside a single-quoted zsh word of _arguments, where brackets and colons end parts.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string zsh_action(const Option& option) {
  if (option.value.empty()) return "";
  if (!option.choices.empty()) {
    return fmt::format(":{}:({})", option.value, fmt::join(option.choices, " "));
  }
  return ":" + option.value + ":" + (takes_file(option) ? "_files" : "");
}

void append_zsh_command(std::string& out, const Command& command) {
  out += fmt::format("    {})\n      _arguments -s", command.name);
  std::vector<Option> options = command.options;
  options.push_back(help_option());
  for (const Option& option : options) {
    for (const std::string& name : names_of(option)) {
      const std::string help =
          name == option.off ? "take " + longest_name(option) + " back" : option.help;
      out += fmt::format(" \\\n        '{}[{}]{}'", name, zsh_text(help), zsh_action(option));
    }
  }
  out += command.takes_command_line ? " \\\n        '*::command:_normal' ;;\n"
                                    : " \\\n        '*:file:_files' ;;\n";
}

}  // namespace

std::string bash_completion(Commands commands) {
  std::string names;
  for (const Command& command : commands) names += command.name + " ";
  std::string out =
      "# bash completion for sonde; printed by: sonde help --format bash\n_sonde() {\n";
  out +=
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options=\n";
  out += "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  out += fmt::format("    COMPREPLY=($(compgen -W '{}--help --version' -- \"$current\"))\n", names);
  out += "    return\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands) append_bash_command(out, command);
  out += "  esac\n  case $current in\n";
  out += "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$current\")) ;;\n";
  out += "    *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n  esac\n}\n";
  return out + "complete -o filenames -F _sonde sonde\n";
}

std::string zsh_completion(Commands commands) {
  std::string out = "#compdef sonde\n# printed by: sonde help --format zsh\n_sonde() {\n";
  out += "  if (( CURRENT == 2 )); then\n    local -a commands\n    commands=(\n";
  for (const Command& command : commands) {
    out += fmt::format("      '{}:{}'\n", command.name, zsh_text(command.summary));
  }
  out += "    )\n    _describe command commands\n    return\n  fi\n  local name=$words[2]\n";
  out += "  shift words\n  (( CURRENT-- ))\n  case $name in\n";
  for (const Command& command : commands) append_zsh_command(out, command);
  // As a file on fpath it is run by the first completion; else it is sourced by the user.
  return out +
         "  esac\n}\nif [[ $funcstack[1] == _sonde ]]; then _sonde \"$@\"; else compdef _sonde sonde; "
         "fi\n";
}

}  // namespace sonde::cli
