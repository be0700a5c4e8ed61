#include "export/output/json_text.h"

#include <charconv>
#include <cstring>

#include "base/strings.h"

namespace sonde::exporting {

namespace {

struct DigitPairs {
  char text[200];
  constexpr DigitPairs() : text{} {
    for (int i = 0; i < 100; ++i) {
      text[2 * i] = static_cast<char>('0' + i / 10);
      text[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
  }
};
constexpr DigitPairs kPairs;

char* put_unsigned(char* out, uint64_t value) {
  char digits[20];
  char* at = digits + sizeof digits;
  while (value >= 100) {
    at -= 2;
    std::memcpy(at, kPairs.text + 2 * (value % 100), 2);
    value /= 100;
  }
  if (value >= 10) {
    at -= 2;
    std::memcpy(at, kPairs.text + 2 * value, 2);
  } else {
    *--at = static_cast<char>('0' + value);
  }
  const size_t size = static_cast<size_t>(digits + sizeof digits - at);
  std::memcpy(out, at, size);
  return out + size;
}

uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

}  // namespace

char* put_integer(char* out, int64_t value) {
  if (value < 0) *out++ = '-';
  return put_unsigned(out, magnitude(value));
}

char* put_thousandths(char* out, int64_t value) {
  if (value < 0) *out++ = '-';
  const uint64_t whole = magnitude(value) / 1000, rest = magnitude(value) % 1000;
  out = put_unsigned(out, whole);
  *out++ = '.';
  *out++ = static_cast<char>('0' + rest / 100);
  std::memcpy(out, kPairs.text + 2 * (rest % 100), 2);
  return out + 2;
}

bool is_plain(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  const auto has_zero = [](uint64_t word) { return (word - kOnes) & ~word & kHigh; };
  // Eight bytes at a time; may report a false "not plain" only together with a true one.
  const auto special = [&](uint64_t word) {
    const uint64_t control = (word - kOnes * 0x20) & ~word;
    return ((word | control) & kHigh) | has_zero(word ^ (kOnes * '"')) |
           has_zero(word ^ (kOnes * '\\'));
  };
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if (special(word) != 0) return false;
  }
  uint64_t rest = kOnes * ' ';
  text.substr(i).copy(reinterpret_cast<char*>(&rest), 8);
  return special(rest) == 0;
}

void append_json_string(Sink& sink, std::string_view text, std::string& scratch) {
  sink.append("\"");
  if (is_plain(text)) {
    sink.append(text);
  } else {
    scratch.clear();
    append_json_escaped(scratch, text);
    sink.append(scratch);
  }
  sink.append("\"");
}

void append_real(Sink& sink, double value) {
  char* out = sink.grab(40);
  sink.advance(std::to_chars(out, out + 40, value).ptr);
}

}  // namespace sonde::exporting
