#include "base/strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/number.h"

namespace sonde {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}

std::optional<int64_t> parse_int(std::string_view text) { return number_in<int64_t>(text); }

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// A decimal number followed by one of `units`; nullopt for anything else.
std::optional<double> parse_scaled(std::string_view text, std::span<const Unit> units,
                                   double default_factor) {
  const auto value = take_number<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  if (text.empty()) return *value * default_factor;
  for (const Unit& unit : units) {
    if (text == unit.name) return *value * unit.factor;
  }
  return std::nullopt;
}

constexpr double kKi = 1024.0;
constexpr Unit kSizeUnits[] = {{"B", 1},
                               {"K", kKi},
                               {"KiB", kKi},
                               {"KB", kKi},
                               {"M", kKi* kKi},
                               {"MiB", kKi* kKi},
                               {"MB", kKi* kKi},
                               {"G", kKi* kKi* kKi},
                               {"GiB", kKi* kKi* kKi},
                               {"GB", kKi* kKi* kKi},
                               {"T", kKi* kKi* kKi* kKi},
                               {"TiB", kKi* kKi* kKi* kKi}};
constexpr Unit kTimeUnits[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                               {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}};

}  // namespace

std::optional<uint64_t> parse_size(std::string_view text) {
  const auto value = parse_scaled(text, kSizeUnits, 1);
  if (!value || *value < 0 || *value >= 1.8e19) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

std::optional<int64_t> parse_duration_ns(std::string_view text, int64_t default_unit_ns) {
  const auto value = parse_scaled(text, kTimeUnits, static_cast<double>(default_unit_ns));
  if (!value || std::fabs(*value) >= 9.2e18) return std::nullopt;
  return std::llround(*value);
}

namespace {

// For values of 0.9995 and more. Digits before the decimal point are never rounded away.
std::string three_digits(double value) {
  if (value >= 99.95) return format_count(static_cast<uint64_t>(std::llround(value)));
  return fmt::format("{:.{}f}", value, value >= 9.995 ? 1 : 2);
}

}  // namespace

std::string format_size(uint64_t bytes) {
  static constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= (unit == 0 ? 1024 : 1023.5) && unit + 1 < std::size(kNames)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : three_digits(value) + " " + kNames[unit];
}

std::string format_duration(int64_t nanoseconds) {
  constexpr const char* kNames[] = {"us", "ms", "s"};
  if (nanoseconds > -1000 && nanoseconds < 1000) return fmt::format("{} ns", nanoseconds);
  double value = static_cast<double>(nanoseconds) / 1e3;
  size_t unit = 0;
  for (; std::fabs(value) >= 999.5 && unit + 1 < std::size(kNames); ++unit) value /= 1e3;
  return (value < 0 ? "-" : "") + three_digits(std::fabs(value)) + " " + kNames[unit];
}

std::string format_count(uint64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string grouped;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) grouped += ',';
    grouped += digits[i];
  }
  return grouped;
}

std::string count_of_bytes(uint64_t bytes) {
  return format_count(bytes) + (bytes == 1 ? " byte" : " bytes");
}

namespace {

// Length of the valid UTF-8 sequence at text[i], or 0.
size_t utf8_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(i);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF5   ? 0
                        : lead >= 0xF0 ? 4
                        : lead >= 0xE0 ? 3
                        : lead >= 0xC2 ? 2
                                       : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(i + 1);
  if (lead == 0xE0 && second < 0xA0) return 0;   // overlong
  if (lead == 0xED && second >= 0xA0) return 0;  // surrogate
  if (lead == 0xF0 && second < 0x90) return 0;   // overlong
  if (lead == 0xF4 && second >= 0x90) return 0;  // beyond U+10FFFF
  return length;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

constexpr char kHex[] = "0123456789abcdef";

// Appends one character beyond ASCII. Characters that control a terminal or reverse the order of
// letters are escaped, too.
void append_code_point(std::string& out, std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  uint32_t code = 0;
  if (bytes.size() == 2) code = (byte(0) & 0x1Fu) << 6 | (byte(1) & 0x3Fu);
  if (bytes.size() == 3) {
    code = (byte(0) & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
  }
  const bool hidden = (code >= 0x80 && code <= 0x9F) || code == 0x61C || code == 0x200E ||
                      code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                      (code >= 0x2066 && code <= 0x2069);
  if (!hidden) return void(out.append(bytes));
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[code >> shift & 15];
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
    } else if (c >= 8 && c <= 13 && c != 11) {
      out += '\\';
      out += "btn fr"[c - 8];  // 8, 9, 10, 12, 13
    } else if (c < 0x80) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else if (const size_t length = utf8_length(text, i); length != 0) {
      append_code_point(out, text.substr(i, length));
      i += length - 1;
    } else {
      out += kReplacement;
    }
  }
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  append_json_escaped(out, text);
  out += '"';
  return out;
}

std::string hex_text(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    if (const size_t length = utf8_length(text, i); length != 0) {
      out.append(text, i, length);
      i += length;
    } else {
      out += kReplacement;
      ++i;
    }
  }
  return out;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return width;
}

}  // namespace sonde
