// NVTX messages of wchar_t (UTF-32 on Linux) as UTF-8. Used by the nvtx backend.
#pragma once

#include <stddef.h>
#include <wchar.h>

#include "base/pinned.h"

namespace sonde::nvtx {

// Bytes of `wide` as UTF-8, without a terminator. What is no Unicode scalar value becomes U+FFFD.
size_t utf8_length(const wchar_t* wide);

// Writes whole characters and a terminator, as many as fit in `room` (at least 1). Returns the
// bytes before the terminator.
size_t utf8_encode(const wchar_t* wide, char* out, size_t room);

// The converted text for as long as the object lives. Short text, and text for which there is no
// memory, stays in the object (the latter cut off).
class Utf8 : Pinned {
 public:
  explicit Utf8(const wchar_t* wide);
  ~Utf8();
  const char* text() const { return heap_ != nullptr ? heap_ : inline_; }

 private:
  char inline_[256];
  char* heap_ = nullptr;
};

}  // namespace sonde::nvtx
