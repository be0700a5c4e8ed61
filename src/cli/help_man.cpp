// Man pages in the man(7) macros that man-db and mandoc both take.
#include <fmt/format.h>

#include "base/letters.h"
#include "base/strings.h"
#include "cli/help.h"
#include "cli/verbs.h"

namespace sonde::cli {
namespace {

// Escapes a line of text: hyphens people may copy stay hyphens, and no line becomes a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
  return out;
}

// Paragraphs are separated by empty lines; lines that begin with a space are shown as they are.
std::string paragraphs(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) {
      out += ".PP\n";
    } else if (line.front() == ' ') {
      out += ".nf\n" + roff(line) + "\n.fi\n";
    } else {
      out += roff(line) + "\n";
    }
  }
  constexpr std::string_view kBreak = ".PP\n";
  while (out.ends_with(kBreak)) out.resize(out.size() - kBreak.size());
  return out;
}

std::string title(const std::string& page) {
  return fmt::format(".TH {} 1 \"\" \"sonde {}\" \"Sonde\"\n", upper(roff(page)), SONDE_VERSION);
}

std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n.B {}\n{}\n", roff(tag), roff(text));
}

}  // namespace

std::string overview_man(Commands commands) {
  std::string out = title("sonde");
  out += ".SH NAME\nsonde \\- record and analyse what programs do on CPUs and GPUs\n";
  out += ".SH SYNOPSIS\n.B sonde\n.I COMMAND\n[OPTIONS] ...\n.SH DESCRIPTION\n";
  out +=
      "Sonde records what a program did on its CPUs and GPUs into one SQLite file and answers "
      "questions about it. Each command has a page of its own, sonde\\-COMMAND(1).\n";
  for (const auto& [name, members] : by_question(commands)) {
    out += ".SH " + upper(roff(name)) + "\n";
    for (const Command* command : members) out += tagged(command->name, command->summary);
  }
  out +=
      ".SH EXIT STATUS\n0, or 1 if something failed, or 2 for wrong usage. "
      "sonde record exits as the recorded program did.\n";
  return out;
}

std::string command_man(const Command& command) {
  std::string out = title("sonde-" + command.name);
  out += fmt::format(".SH NAME\nsonde\\-{} \\- {}\n", roff(command.name), roff(command.summary));
  out += ".SH SYNOPSIS\n" + roff(usage_of(command)) + "\n";
  if (!command.description.empty()) out += ".SH DESCRIPTION\n" + paragraphs(command.description);
  const std::string said = said_of_view(command);
  if (!said.empty()) out += ".SH VIEW\n" + roff(said) + "\n";
  if (!command.positionals.empty()) out += ".SH ARGUMENTS\n";
  for (const Positional& positional : command.positionals) {
    out += tagged(positional.name, positional.help);
  }
  const auto& views = views_of(command.name);
  if (!views.empty()) out += ".SH VIEWS\n";
  for (const View& view : views) out += tagged(fmt::format("--{}", view.name), view.what);
  out += ".SH OPTIONS\n";
  for (const Option& option : command.options) {
    out += tagged(option_heading(option), option_help(option));
  }
  out += tagged(option_heading(help_option()), help_option().help);
  if (!command.definition.empty()) {
    out += ".SH WHAT THE FIGURES MEAN\n" + paragraphs(whole_definition(command));
  }
  if (!command.examples.empty()) out += ".SH EXAMPLES\n";
  for (const Example& example : command.examples) {
    out += tagged(example.command, example.explanation);
  }
  return out + ".SH SEE ALSO\n.BR sonde (1)\n";
}

}  // namespace sonde::cli
