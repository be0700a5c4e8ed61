#include "analysis/arguments.h"

#include "base/number.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

// From the quote at `begin` past the one that ends the text.
size_t end_of_text(std::string_view args, size_t begin) {
  for (size_t i = begin + 1; i < args.size(); ++i) {
    if (args[i] == '\\') {
      ++i;
    } else if (args[i] == '"') {
      return i + 1;
    }
  }
  return args.size();
}

// From the bracket at `begin` past the one that closes it.
size_t end_of_list(std::string_view args, size_t begin) {
  int open = 0;
  for (size_t i = begin; i < args.size(); ++i) {
    if (args[i] == '"') {
      i = end_of_text(args, i) - 1;
    } else if (args[i] == '[') {
      ++open;
    } else if (args[i] == ']' && --open == 0) {
      return i + 1;
    }
  }
  return args.size();
}

size_t skip_blanks(std::string_view args, size_t i) {
  while (i < args.size() && (args[i] == ' ' || args[i] == '\n' || args[i] == '\t')) ++i;
  return i;
}

// "count = 1000 | bytes = 4000", as Sonde records calls.
std::optional<std::string_view> argument_of_list(std::string_view args, std::string_view key) {
  while (!args.empty()) {
    const size_t end = args.find(" | ");
    const std::string_view one = args.substr(0, end);
    const size_t equals = one.find('=');
    if (equals != one.npos && trim(one.substr(0, equals)) == key) {
      return trim(one.substr(equals + 1));
    }
    args.remove_prefix(end == args.npos ? args.size() : end + 3);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> argument(std::string_view args, std::string_view key) {
  if (skip_blanks(args, 0) < args.size() && args[skip_blanks(args, 0)] != '{') {
    return argument_of_list(args, key);
  }
  for (size_t i = 0; i < args.size();) {
    if (args[i] != '"') {
      ++i;
      continue;
    }
    const size_t end = end_of_text(args, i);
    const std::string_view text = args.substr(i + 1, end - i - 2);
    i = skip_blanks(args, end);
    if (text != key || i >= args.size() || args[i] != ':') continue;
    i = skip_blanks(args, i + 1);
    if (i >= args.size()) return std::nullopt;
    if (args[i] == '"') return args.substr(i + 1, end_of_text(args, i) - i - 2);
    if (args[i] == '[') return args.substr(i, end_of_list(args, i) - i);
    return trim(args.substr(i, args.find_first_of(",}\n", i) - i));
  }
  return std::nullopt;
}

std::optional<int64_t> integer_argument(std::string_view args, std::string_view key) {
  const auto text = argument(args, key);
  return text ? parse_int(*text) : std::nullopt;
}

std::optional<int64_t> handle_argument(std::string_view args, std::string_view key) {
  auto text = argument(args, key);
  if (!text || !text->starts_with("0x")) return std::nullopt;
  text->remove_prefix(2);
  const auto value = take_number<uint64_t>(*text, 16);
  return value ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

std::optional<int64_t> number_argument(std::string_view args, std::string_view key) {
  const auto handle = handle_argument(args, key);
  return handle ? handle : integer_argument(args, key);
}

}  // namespace sonde::analysis
