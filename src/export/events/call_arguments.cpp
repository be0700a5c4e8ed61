#include "export/events/call_arguments.h"

#include <algorithm>
#include <string>

#include "base/strings.h"

namespace sonde::exporting {

namespace {

constexpr size_t kMost = 64;

bool is_reserved(std::string_view name) {
  return name.empty() || name == "args" || name == "marker" || name == "mangled_name" ||
         name == kPairsName || name.find('\\') != name.npos;
}

// A number that is written in no other way comes back as it was.
CallArgument value_of(std::string_view name, std::string_view value) {
  CallArgument argument{name, CallArgument::Kind::kText, 0, value};
  const auto integer = parse_int(value);
  if (integer && std::to_string(*integer) == value) {
    argument.kind = CallArgument::Kind::kInteger;
    argument.integer = *integer;
  }
  return argument;
}

}  // namespace

bool CallArguments::split(std::string_view text) {
  list_.clear();
  was_json_ = !text.empty() && text.front() == '{';
  const bool done = was_json_ ? split_json(text) : split_pairs(text);
  return done && !list_.empty() && list_.size() <= kMost &&
         std::none_of(list_.begin(), list_.end(),
                      [](const CallArgument& argument) { return is_reserved(argument.name); });
}

bool CallArguments::split_json(std::string_view text) {
  if (!json_members(text, members_)) return false;
  for (const JsonMember& member : members_) {
    const std::string_view value = member.value;
    const bool plain = value.size() >= 2 && value.front() == '"' && value.find('\\') == value.npos;
    if (plain) {
      list_.push_back(
          {member.key, CallArgument::Kind::kText, 0, value.substr(1, value.size() - 2)});
      continue;
    }
    CallArgument argument = value_of(member.key, value);
    if (argument.kind == CallArgument::Kind::kText) argument.kind = CallArgument::Kind::kJson;
    list_.push_back(argument);
  }
  return true;
}

bool CallArguments::split_pairs(std::string_view text) {
  constexpr std::string_view kBetween = " | ", kEquals = " = ";
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(kBetween, begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    const size_t equals = pair.find(kEquals);
    if (equals == pair.npos) return false;
    list_.push_back(value_of(pair.substr(0, equals), pair.substr(equals + kEquals.size())));
    if (end == text.size()) break;
    begin = end + kBetween.size();
  }
  return true;
}

}  // namespace sonde::exporting
