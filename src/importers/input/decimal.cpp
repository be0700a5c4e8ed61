#include "importers/input/decimal.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/number.h"

namespace sonde::importers {

namespace {

constexpr int kMaxExponent = 1000;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The exponent after an 'e'. Beyond any number that fits it stays at the limit.
std::optional<int> parse_exponent(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int exponent = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    exponent = std::min(exponent * 10 + (c - '0'), kMaxExponent);
  }
  return negative ? -exponent : exponent;
}

}  // namespace

std::optional<int64_t> decimal_to_int(std::string_view text, int scale) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  uint64_t digits = 0;
  int shift = scale;  // digits * 10^shift is the result
  bool fraction = false;
  bool any = false;
  bool round_up = false;
  bool full = false;  // digits holds no more; the rest only shifts
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c)) {
      any = true;
      const bool dropped = full || (fraction && shift <= 0) || digits > (UINT64_MAX - 9) / 10;
      if (dropped) {
        if (!full) round_up = c >= '5';
        full = true;
        if (!fraction) ++shift;
        continue;
      }
      digits = digits * 10 + static_cast<uint64_t>(c - '0');
      if (fraction) --shift;
    } else if (c == '.' && !fraction) {
      fraction = true;
    } else if ((c == 'e' || c == 'E') && any) {
      const auto exponent = parse_exponent(text.substr(i + 1));
      if (!exponent) return std::nullopt;
      if (*exponent != 0) {  // rare: read the digits again with the shift known
        return decimal_to_int((negative ? "-" : "") + std::string(text.substr(0, i)),
                              scale + *exponent);
      }
      break;
    } else {
      return std::nullopt;
    }
  }
  if (!any) return std::nullopt;
  for (; shift > 0 && digits != 0; --shift) {
    if (digits > static_cast<uint64_t>(kMax) / 10) return std::nullopt;
    digits *= 10;
  }
  for (; shift < 0 && digits != 0; ++shift) {
    round_up = digits % 10 >= 5;
    digits /= 10;
  }
  if (round_up) ++digits;
  if (digits > static_cast<uint64_t>(kMax)) return std::nullopt;
  return negative ? -static_cast<int64_t>(digits) : static_cast<int64_t>(digits);
}

std::optional<int64_t> parse_number(std::string_view text) {
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.remove_prefix(2);
  const auto value = number_in<uint64_t>(text, is_hexadecimal ? 16 : 10);
  return value ? std::optional(static_cast<int64_t>(*value)) : std::nullopt;
}

}  // namespace sonde::importers
