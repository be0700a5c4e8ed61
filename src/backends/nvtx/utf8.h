// NVTX messages of wchar_t (UTF-32 on Linux) as UTF-8. Used by the nvtx backend.
#pragma once

#include <stddef.h>
#include <wchar.h>

#include "base/made_text.h"

namespace sonde::nvtx {

// Bytes of `wide` as UTF-8, without a terminator. What is no Unicode scalar value becomes U+FFFD.
size_t utf8_length(const wchar_t* wide);

// Writes whole characters and a terminator, as many as fit in `room` (at least 1). Returns the
// bytes before the terminator.
size_t utf8_encode(const wchar_t* wide, char* out, size_t room);

// The converted text for as long as the object lives; cut off where there is no memory.
class Utf8 : public MadeText {
 public:
  explicit Utf8(const wchar_t* wide);
};

}  // namespace sonde::nvtx
