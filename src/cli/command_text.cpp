#include "cli/command_text.h"

#include <algorithm>

#include "base/check.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

constexpr std::string_view kGap = "  ";

// What follows `title` in the text, which then ends before it.
std::string_view cut(std::string_view& text, std::string_view title) {
  const size_t at = text.find(title);
  if (at == text.npos) return {};
  const std::string_view rest = text.substr(at + title.size());
  text = text.substr(0, at);
  return rest;
}

std::pair<std::string_view, std::string_view> halves(std::string_view text, std::string_view gap) {
  const std::string_view rest = cut(text, gap);
  return {trim(text), trim(rest)};
}

bool stands_alone(std::string_view line) {
  return line.empty() || line.starts_with(' ') || line.starts_with("- ");
}

std::string paragraphs(std::string_view text) {
  std::string joined;
  std::string_view before;
  for (const std::string_view line : split(trim(text), '\n')) {
    if (!joined.empty()) joined += before.empty() || stands_alone(line) ? '\n' : ' ';
    joined += line;
    before = line;
  }
  return joined;
}

// A line each, with what is indented below it.
std::vector<std::string> entries(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    if (trim(line).empty()) continue;
    if (!line.starts_with(' ')) {
      lines.emplace_back(line);
      continue;
    }
    SONDE_CHECK(!lines.empty());
    std::string& entry = lines.back();
    const bool in_heading = entry.find(kGap) == entry.npos && entry.ends_with(',');
    entry += in_heading || entry.find(kGap) != entry.npos ? " " : kGap;
    entry += trim(line);
  }
  return lines;
}

// "what a row is [kernel]"
void take_help(std::string_view help, Option& option) {
  if (help.ends_with(']')) {
    const size_t at = help.rfind('[');
    option.fallback = help.substr(at + 1, help.size() - at - 2);
    help = trim(help.substr(0, at));
  }
  if (!help.empty()) option.help = help;
}

// "WHAT=kernel|dispatch", "ID..."; "WHAT,..." is one value, a list.
void take_value(std::string_view value, Option& option) {
  if (value.ends_with("...") && !value.ends_with(",...")) {
    option.repeated = true;
    value.remove_suffix(3);
  }
  if (value.find('|') != value.npos) {
    for (const std::string_view choice : split(cut(value, "="), '|')) {
      option.choices.emplace_back(choice);
    }
  }
  option.value = value;
}

template <typename Kind, typename Name>
Kind known_as(std::span<const Kind> known, std::string_view name, Name name_of) {
  const auto found = std::find_if(known.begin(), known.end(),
                                  [&](const Kind& kind) { return name_of(kind) == name; });
  SONDE_CHECK(found != known.end());
  return *found;
}

// Several names without help text are several options.
void add_options(std::string_view entry, std::span<const Option> known,
                 std::vector<Option>& options) {
  const auto [heading, help] = halves(entry, kGap);
  if (help.empty() || help.starts_with('[')) {
    for (const std::string_view name : split(heading, ' ')) {
      options.push_back(known_as(known, name, [](const Option& one) { return one.names; }));
      take_help(help, options.back());
    }
    return;
  }
  Option option;
  for (std::string_view word : split(heading, ' ')) {
    if (!word.starts_with('-')) {
      take_value(word, option);
      continue;
    }
    if (word.ends_with(',')) word.remove_suffix(1);
    option.names += (option.names.empty() ? "" : ",") + std::string(word);
  }
  take_help(help, option);
  options.push_back(std::move(option));
}

void add_positional(std::string_view entry, std::span<const Positional> known, Command& command) {
  auto [name, help] = halves(entry, kGap);
  if (name.starts_with("[--]")) {
    command.takes_command_line = true;
    return;
  }
  Positional positional;
  if (name.starts_with('[')) {
    positional.required = false;
    name = name.substr(1, name.size() - 2);
  }
  if (name.ends_with("...")) {
    positional.repeated = true;
    name.remove_suffix(3);
  }
  positional.name = name;
  positional.help = help.empty()
                        ? known_as(known, name, [](const Positional& one) { return one.name; }).help
                        : std::string(help);
  command.positionals.push_back(std::move(positional));
}

}  // namespace

std::vector<Option> read_options(std::string_view text, std::span<const Option> known) {
  std::vector<Option> options;
  for (const std::string& entry : entries(text)) add_options(entry, known, options);
  return options;
}

Command read_command(std::string_view text, const Command& known) {
  Command command;
  const std::string_view examples = cut(text, "\nExamples:\n");
  const std::string_view options = cut(text, "\nOptions:\n");
  const std::string_view arguments = cut(text, "\nArguments:\n");
  const auto [title, description] = halves(text, "\n\n");
  const auto [name, summary] = halves(title, " - ");
  command.name = name;
  command.summary = summary;
  command.description = paragraphs(description);
  for (const std::string& entry : entries(arguments)) {
    add_positional(entry, known.positionals, command);
  }
  command.options = read_options(options, known.options);
  for (const std::string& entry : entries(examples)) {
    const auto [words, explanation] = halves(entry, kGap);
    command.examples.push_back({std::string(words), std::string(explanation)});
  }
  return command;
}

}  // namespace sonde::cli
