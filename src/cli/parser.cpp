#include "cli/parser.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/strings.h"
#include "cli/suggest.h"

namespace sonde::cli {

std::optional<std::string> Arguments::value(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::string Arguments::value_or(std::string_view name, std::string_view fallback) const {
  return value(name).value_or(std::string(fallback));
}

std::vector<std::string> Arguments::values(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::string longest_name(const Option& option) {
  std::string_view longest;
  for (const std::string_view name : split(option.names, ',')) {
    if (name.size() > longest.size()) longest = name;
  }
  return std::string(longest);
}

std::string key_of(const Option& option) {
  const std::string name = longest_name(option);
  return name.substr(std::min(name.find_first_not_of('-'), name.size()));
}

std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names;
  for (const std::string_view name : split(option.names, ',')) names.emplace_back(name);
  if (!option.off.empty()) names.push_back(option.off);
  return names;
}

// Friend of Arguments: fills it in.
struct Parser {
  const Command& command;
  Parsed parsed;

  static Error usage(std::string message, std::string hint = {}) {
    return make_error(ErrorCode::kInvalidArgument, std::move(message), {}, std::move(hint));
  }

  const Option* find(std::string_view name) const {
    for (const Option& option : command.options) {
      for (const std::string& candidate : names_of(option)) {
        if (candidate == name) return &option;
      }
    }
    return nullptr;
  }

  // How many of the words are the command's own, before the command line it takes begins at the
  // first word that is neither an option nor the value of one.
  size_t own_words(std::span<const std::string> words) const {
    for (size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      if (word == "--" || word.size() < 2 || word[0] != '-') return i;
      const Option* option = find(word);
      if (option != nullptr && !option->value.empty()) ++i;
    }
    return words.size();
  }

  Error unknown_option(const std::string& word) const {
    std::vector<std::string> names = {"--help"};
    for (const Option& option : command.options) {
      for (std::string& name : names_of(option)) names.push_back(std::move(name));
    }
    const std::string name = word.substr(0, word.find('='));
    std::string near = nearest(name, names);
    for (const Option& option : command.options) {
      for (const std::string& choice :
           option.choices) {  // --json, where that is a value of --format
        if (key_of(option) == "format" && name == "--" + choice) near = "--format " + choice;
      }
    }
    return usage("unknown option '" + name + "'", near.empty() ? "" : "did you mean " + near + "?");
  }

  Status check_choices() const {
    for (const Option& option : command.options) {
      const auto found = parsed.arguments.values_.find(key_of(option));
      if (option.choices.empty() || found == parsed.arguments.values_.end()) continue;
      for (const std::string& value : found->second) {
        if (std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end())
          continue;
        return usage(fmt::format("{}: '{}' is not one of {}", longest_name(option), value,
                                 fmt::join(option.choices, ", ")));
      }
    }
    return ok_status();
  }

  Status check_positionals() const {
    size_t most = 0;
    bool any_number = command.takes_command_line;
    const auto& given = parsed.arguments.positionals_;
    const bool alone = std::any_of(command.options.begin(), command.options.end(), [&](auto& o) {
      return o.stands_alone && parsed.arguments.flag(key_of(o));
    });
    for (const Positional& positional : command.positionals) {
      if (positional.required && given.size() <= most && !alone && !command.takes_command_line) {
        return usage("no " + positional.name + " given");
      }
      ++most;
      any_number = any_number || positional.repeated;
    }
    if (!any_number && given.size() > most) {
      return usage("unexpected argument '" + given[most] + "'");
    }
    return ok_status();
  }

  // A flag that was taken back is known by the name that did so.
  void take(const Option& option, const CLI::Option& known, std::vector<std::string>& texts) {
    auto& values = parsed.arguments.values_;
    if (!option.value.empty()) {
      values[key_of(option)] = std::move(texts);
    } else if (known.as<bool>()) {
      values[key_of(option)] = {""};
    } else if (!option.off.empty()) {
      values[option.off.substr(2)] = {""};
    }
  }

  Status run_cli11(std::span<const std::string> words) {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    std::map<std::string, std::vector<std::string>> texts;
    std::vector<std::pair<const Option*, CLI::Option*>> added;
    bool help = false;
    app.add_flag("-h,--help", help);
    for (const Option& option : command.options) {
      CLI::Option* known = nullptr;
      if (option.value.empty()) {
        const std::string off = option.off.empty() ? "" : ",!" + option.off;
        known = app.add_flag(option.names + off);
        known->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      } else {
        known = app.add_option(option.names, texts[key_of(option)]);
        known->expected(1)->allow_extra_args(false);
        known->multi_option_policy(option.repeated ? CLI::MultiOptionPolicy::TakeAll
                                                   : CLI::MultiOptionPolicy::TakeLast);
      }
      added.emplace_back(&option, known);
    }
    std::vector<std::string> positionals;
    app.add_option("positionals", positionals)->expected(0, 1 << 20);
    try {
      app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
      for (const auto& [option, known] : added) {
        if (known->count() != 0) take(*option, *known, texts[key_of(*option)]);
      }
    } catch (const CLI::ArgumentMismatch& error) {  // "--format: 1 required TEXT missing"
      const std::string said = valid_utf8(error.what());
      const std::string name = said.substr(0, said.find(':'));
      const Option* const option = find(name);
      return usage(option == nullptr ? said : name + ": no " + option->value + " given");
    } catch (const CLI::ParseError& error) {
      return usage(valid_utf8(error.what()));
    }
    parsed.wants_help = help;
    for (const std::string& word : app.remaining()) {
      if (!help && word.size() > 1 && word[0] == '-') return unknown_option(word);
    }
    parsed.arguments.positionals_ = std::move(positionals);
    return ok_status();
  }

  Status run(std::span<const std::string> words) {
    size_t own = words.size();
    if (command.takes_command_line) {
      own = own_words(words);
      const size_t rest = own < words.size() && words[own] == "--" ? own + 1 : own;
      parsed.arguments.command_line_.assign(words.begin() + static_cast<std::ptrdiff_t>(rest),
                                            words.end());
    }
    SONDE_TRY(run_cli11(words.first(own)));
    if (parsed.wants_help) return ok_status();
    SONDE_TRY(check_choices());
    return check_positionals();
  }
};

Result<Parsed> parse(const Command& command, std::span<const std::string> words) {
  Parser parser{command, {}};
  SONDE_TRY(parser.run(words));
  return std::move(parser.parsed);
}

}  // namespace sonde::cli
