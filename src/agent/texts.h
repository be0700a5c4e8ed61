// A cache per thread of the texts it has recorded, so that a repeated text costs a few
// instructions. Short texts are found by their bytes, which are the key: it does not matter whether
// the program passes a literal or a buffer that it fills anew. Longer ones are found by address,
// and compared.
#pragma once

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && !defined(SONDE_AGENT_STATIC)
#include <emmintrin.h>
#endif

#include "wire/records.h"

namespace sonde::agent {

// A text of up to 15 bytes, padded with zeros.
struct ShortText {
  uint64_t low, high;
};

// The text's bytes, if it is short; false if it is not, or if that cannot be checked quickly.
inline bool load_short(const char* text, ShortText& bytes, uint32_t& length) {
#if defined(__SSE2__) && !defined(SONDE_AGENT_STATIC)
  // Loads 16 bytes at once, unless they might reach into the next page.
  if ((reinterpret_cast<uintptr_t>(text) & 4095) > 4096 - 16) return false;
  const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  const auto ends =
      static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(loaded, _mm_setzero_si128())));
  if (ends == 0) return false;
  alignas(16) static constexpr uint8_t kMask[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                    255, 255, 255, 255, 255, 255, 255, 255};
  length = static_cast<uint32_t>(__builtin_ctz(ends));
  const __m128i kept = _mm_and_si128(
      loaded, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kMask + sizeof kMask / 2 - length)));
  bytes.low = static_cast<uint64_t>(_mm_cvtsi128_si64(kept));
  bytes.high = static_cast<uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(kept, kept)));
#else
  length = static_cast<uint32_t>(strnlen(text, 16));
  if (length == 16) return false;
  bytes = {};
  memcpy(&bytes, text, length);
#endif
  return true;
}

class TextCache {
 public:
  // The id of a remembered text, or 0.
  uint32_t find(const char* text) const {
    if (text == nullptr) return 0;
    ShortText bytes;
    uint32_t length;
    if (load_short(text, bytes, length)) {
      const Short& known = shorts_[slot_of(bytes)];
      return known.bytes.low == bytes.low && known.bytes.high == bytes.high ? known.id : 0;
    }
    const Pointer& known = pointers_[slot_of(text)];
    return known.text == text && strcmp(known.string->text(), text) == 0 ? known.string->header.id
                                                                         : 0;
  }

  // `string` is the definition of the current contents of `text`.
  void remember(const char* text, const wire::StringRecord* string) {
    ShortText bytes;
    uint32_t length;
    if (load_short(text, bytes, length)) {
      shorts_[slot_of(bytes)] = {bytes, string->header.id};
    } else {
      pointers_[slot_of(text)] = {text, string};
    }
  }

 private:
  static constexpr uint32_t kShorts = 1024;
  static constexpr uint32_t kPointers = 256;
  struct Short {
    ShortText bytes;
    uint32_t id;
  };
  struct Pointer {
    const char* text;
    const wire::StringRecord* string;
  };
  static uint64_t slot_of(const ShortText& bytes) {
    return (bytes.low * 0x9FB21C651E98DF25 ^ bytes.high * 0xA0761D6478BD642F) >> 54;
  }
  static uint64_t slot_of(const char* text) {
    const auto bits = reinterpret_cast<uintptr_t>(text);
    return (bits ^ bits >> 8) % kPointers;
  }

  Short shorts_[kShorts];
  Pointer pointers_[kPointers];
};

}  // namespace sonde::agent
