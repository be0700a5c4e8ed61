// Converts NVTX messages of wchar_t (UTF-32 on Linux) to UTF-8.
#pragma once

#include <stddef.h>
#include <wchar.h>

#include "base/made_text.h"

namespace sonde::nvtx {

// The UTF-8 length of `wide` in bytes, without a terminator. Invalid code points become U+FFFD.
size_t utf8_length(const wchar_t* wide);

// Writes as many whole characters as fit in `room` (at least 1), and a terminator. Returns the
// bytes before the terminator.
size_t utf8_encode(const wchar_t* wide, char* out, size_t room);

// The converted text, owned by the object; truncated if there is no memory.
class Utf8 : public MadeText {
 public:
  explicit Utf8(const wchar_t* wide);
};

}  // namespace sonde::nvtx
