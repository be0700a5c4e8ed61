#include "backends/nvtx/utf8.h"

#include <stdint.h>

namespace sonde::nvtx {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;

uint32_t scalar(wchar_t c) {
  const uint32_t value = static_cast<uint32_t>(c);  // NOLINT(bugprone-signed-char-misuse): wide
  const bool valid = value < 0xD800 || (value > 0xDFFF && value <= 0x10FFFF);
  return valid ? value : kReplacement;
}

size_t width(uint32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

char tail(uint32_t c, unsigned shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3F)); }

char* put(char* out, uint32_t c, size_t bytes) {
  switch (bytes) {
    case 1:
      *out++ = static_cast<char>(c);
      return out;
    case 2:
      *out++ = static_cast<char>(0xC0 | (c >> 6));
      break;
    case 3:
      *out++ = static_cast<char>(0xE0 | (c >> 12));
      *out++ = tail(c, 6);
      break;
    default:
      *out++ = static_cast<char>(0xF0 | (c >> 18));
      *out++ = tail(c, 12);
      *out++ = tail(c, 6);
  }
  *out++ = tail(c, 0);
  return out;
}

}  // namespace

size_t utf8_length(const wchar_t* wide) {
  size_t length = 0;
  for (; *wide != L'\0'; ++wide) length += width(scalar(*wide));
  return length;
}

size_t utf8_encode(const wchar_t* wide, char* out, size_t room) {
  char* at = out;
  for (; *wide != L'\0'; ++wide) {
    const uint32_t c = scalar(*wide);
    const size_t bytes = width(c);
    if (static_cast<size_t>(at - out) + bytes + 1 > room) break;
    at = put(at, c, bytes);
  }
  *at = '\0';
  return static_cast<size_t>(at - out);
}

Utf8::Utf8(const wchar_t* wide) {
  if (wide == nullptr) wide = L"";
  const Room room = make_room(utf8_length(wide));
  utf8_encode(wide, room.to, room.bytes + 1);
}

}  // namespace sonde::nvtx
