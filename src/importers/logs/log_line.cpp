#include "importers/logs/log_line.h"

#include <cctype>

#include "base/number.h"
#include "base/strings.h"

namespace sonde::importers {

namespace {

constexpr std::string_view kColourOn = "\x1b[32m", kColourOff = "\x1b[0m";

bool take(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

std::string_view without_colour(std::string_view text) {
  take(text, kColourOn);
  if (text.size() >= kColourOff.size() &&
      text.substr(text.size() - kColourOff.size()) == kColourOff) {
    text.remove_suffix(kColourOff.size());
  }
  return trim(text);
}

// "30799: [tid:0x7f7e2e1aa880] " of ROCm 5, "[pid:30799 tid: 0x  1f] " of ROCm 6, or nothing.
bool take_thread(std::string_view& text, LogLine& line) {
  skip_blanks(text);
  std::string_view rest = text;
  if (const auto pid = take_number<int64_t>(rest)) {
    skip_blanks(rest);
    if (!take(rest, ":")) return true;  // a number that belongs to the message
    line.pid = *pid;
    skip_blanks(rest);
  }
  if (take(rest, "[pid:")) {
    skip_blanks(rest);
    const auto pid = take_number<int64_t>(rest);
    if (!pid) return false;
    line.pid = *pid;
    skip_blanks(rest);
  } else if (!take(rest, "[")) {
    text = rest;
    return true;
  }
  if (!take(rest, "tid:")) return true;  // a message in brackets
  skip_blanks(rest);
  if (!take(rest, "0x")) return false;
  skip_blanks(rest);
  const auto tid = take_number<int64_t>(rest, 16);
  if (!tid || !take(rest, "]")) return false;
  line.tid = *tid;
  text = rest;
  return true;
}

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

}  // namespace

std::optional<LogLine> parse_log_line(std::string_view text) {
  LogLine line;
  if (text.size() < 2 || text[0] != ':' || text[1] < '0' || text[1] > '9') return std::nullopt;
  line.level = text[1] - '0';
  text.remove_prefix(2);
  if (!take(text, ":")) return std::nullopt;
  const size_t file_end = text.find(':');
  if (file_end == std::string_view::npos) return std::nullopt;
  line.file = trim(text.substr(0, file_end));
  text.remove_prefix(file_end + 1);
  skip_blanks(text);
  if (!take_number<int64_t>(text)) return std::nullopt;
  skip_blanks(text);
  if (!take(text, ":")) return std::nullopt;
  skip_blanks(text);
  const auto time = take_number<int64_t>(text);
  if (!time || !take(text, " us:")) return std::nullopt;
  line.time_us = *time;
  if (!take_thread(text, line)) return std::nullopt;
  line.message = without_colour(trim(text));
  return line;
}

std::optional<LoggedCall> parse_call(std::string_view message) {
  const size_t open = message.find(" (");
  if (open == std::string_view::npos || message.back() != ')') return std::nullopt;
  const std::string_view name = message.substr(0, open);
  if (!is_name(name) || name.find("hip") == std::string_view::npos) return std::nullopt;
  return LoggedCall{name, trim(message.substr(open + 2, message.size() - open - 3))};
}

std::optional<LoggedReturn> parse_return(std::string_view message) {
  constexpr std::string_view kReturned = ": Returned ", kDuration = ": duration: ";
  const size_t at = message.find(kReturned);
  if (at == std::string_view::npos || !is_name(message.substr(0, at))) return std::nullopt;
  LoggedReturn result;
  result.name = message.substr(0, at);
  std::string_view rest = message.substr(at + kReturned.size());
  if (const size_t duration = rest.rfind(kDuration); duration != std::string_view::npos) {
    std::string_view number = rest.substr(duration + kDuration.size());
    result.duration_us = take_number<int64_t>(number);
    rest = rest.substr(0, duration);
  }
  const size_t code_end = rest.find(" :");
  result.code = trim(rest.substr(0, code_end));
  if (code_end != std::string_view::npos) result.value = trim(rest.substr(code_end + 2));
  if (result.value == ":") result.value = {};
  return result;
}

std::string_view value_after(std::string_view message, std::string_view key,
                             std::string_view ends) {
  const size_t at = message.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = message.substr(at + key.size());
  return trim(rest.substr(0, rest.find_first_of(ends)));
}

bool parse_axes(std::string_view message, std::string_view key, int64_t (&axes)[3]) {
  std::string_view text = value_after(message, key, "]");
  if (!take(text, "[")) return false;
  for (int i = 0; i < 3; ++i) {
    const auto value = take_number<int64_t>(text);
    if (!value) return false;
    axes[i] = *value;
    take(text, ",");
    skip_blanks(text);
  }
  return true;
}

}  // namespace sonde::importers
