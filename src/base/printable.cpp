#include "base/printable.h"

#include "base/strings.h"

namespace sonde {

namespace {

constexpr char kReplacement[] = "\xef\xbf\xbd";

unsigned char byte_at(std::string_view text, size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// The length of a C1 control character or a directional mark at `at`; 0 if there is none.
size_t hidden_length(std::string_view text, size_t at) {
  const unsigned char first = byte_at(text, at);
  const unsigned char second = byte_at(text, at + 1);
  const unsigned char third = byte_at(text, at + 2);
  if (first == 0xC2) return second >= 0x80 && second <= 0x9F ? 2 : 0;
  if (first == 0xD8) return second == 0x9C ? 2 : 0;
  if (first != 0xE2) return 0;
  const bool mark = second == 0x80 && (third == 0x8E || third == 0x8F);
  const bool embedding = second == 0x80 && third >= 0xAA && third <= 0xAE;
  const bool isolate = second == 0x81 && third >= 0xA6 && third <= 0xA9;
  return mark || embedding || isolate ? 3 : 0;
}

// The escape sequences that the tool itself writes: plain, bold, italic (as rocm-smi does), yellow.
size_t colour_length(std::string_view text, size_t at) {
  for (const std::string_view ours : {"\x1b[0m", "\x1b[1m", "\x1b[3m", "\x1b[33m"}) {
    if (text.substr(at, ours.size()) == ours) return ours.size();
  }
  return 0;
}

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7f; }

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  const std::string valid = valid_utf8(text);
  std::string out;
  out.reserve(valid.size());
  for (size_t i = 0; i < valid.size();) {
    const size_t hidden = hidden_length(valid, i);
    if (hidden > 0) {
      out += kReplacement;
      i += hidden;
      continue;
    }
    const char c = valid[i++];
    const bool stays = lines == Lines::kKeep && (c == '\n' || c == '\t');
    out += is_control(static_cast<unsigned char>(c)) && !stays ? ' ' : c;
  }
  return out;
}

bool is_safe_output(std::string_view text, std::string& safe) {
  // Bytes that may need a replacement are rare: search for the first one before copying.
  const auto suspect = [&](size_t i) {
    const unsigned char c = byte_at(text, i);
    return (is_control(c) && c != '\n' && c != '\t' && colour_length(text, i) == 0) ||
           hidden_length(text, i) > 0;
  };
  size_t at = 0;
  while (at < text.size() && !suspect(at)) ++at;
  if (at == text.size()) return true;
  safe.clear();
  for (size_t i = 0; i < text.size();) {
    const size_t hidden = hidden_length(text, i);
    const size_t colour = text[i] == '\x1b' ? colour_length(text, i) : 0;
    if (hidden > 0) {
      safe += kReplacement;
      i += hidden;
    } else if (colour > 0) {
      safe.append(text, i, colour);
      i += colour;
    } else {
      safe += suspect(i) ? ' ' : text[i];
      ++i;
    }
  }
  return false;
}

}  // namespace sonde
