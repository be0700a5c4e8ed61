#include "importers/input/json_scan.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sonde::importers {

namespace {

struct Masks {
  uint64_t quotes = 0, backslashes = 0, opens = 0, closes = 0;
};

// '[' and '{' differ in one bit only, and so do ']' and '}'.
constexpr char kCaseBit = 0x20;

#if defined(__SSE2__)
Masks masks_of(const char* text) {
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i case_bit = _mm_set1_epi8(kCaseBit);
  const __m128i open = _mm_set1_epi8('{');
  const __m128i close = _mm_set1_epi8('}');
  const auto bits = [](__m128i equal) {
    return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal)));
  };
  Masks masks;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * i));
    const __m128i folded = _mm_or_si128(bytes, case_bit);
    masks.quotes |= bits(_mm_cmpeq_epi8(bytes, quote)) << (16 * i);
    masks.backslashes |= bits(_mm_cmpeq_epi8(bytes, backslash)) << (16 * i);
    masks.opens |= bits(_mm_cmpeq_epi8(folded, open)) << (16 * i);
    masks.closes |= bits(_mm_cmpeq_epi8(folded, close)) << (16 * i);
  }
  return masks;
}
#else
Masks masks_of(const char* text) {
  Masks masks;
  for (int i = 0; i < 64; ++i) {
    const char c = text[i];
    const char folded = static_cast<char>(c | kCaseBit);
    masks.quotes |= static_cast<uint64_t>(c == '"') << i;
    masks.backslashes |= static_cast<uint64_t>(c == '\\') << i;
    masks.opens |= static_cast<uint64_t>(folded == '{') << i;
    masks.closes |= static_cast<uint64_t>(folded == '}') << i;
  }
  return masks;
}
#endif

// Bit i of the result is the parity of the bits 0 to i.
uint64_t prefix_parity(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// __builtin_popcountll() is a call of a function for the oldest x86-64 that this is built for.
int count_bits(uint64_t bits) {
  bits -= (bits >> 1) & 0x5555555555555555u;
  bits = (bits & 0x3333333333333333u) + ((bits >> 2) & 0x3333333333333333u);
  bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return static_cast<int>((bits * 0x0101010101010101u) >> 56);
}

}  // namespace

BracketScan::Block BracketScan::next(const char* text) {
  const Masks masks = masks_of(text);
  uint64_t quotes = masks.quotes;
  if (masks.backslashes != 0 || escaped_) {  // rare
    bool escaped = escaped_;
    for (int i = 0; i < 64; ++i) {
      const uint64_t bit = uint64_t{1} << i;
      if (escaped) {
        quotes &= ~bit;
        escaped = false;
      } else {
        escaped = (masks.backslashes & bit) != 0;
      }
    }
    escaped_ = escaped;
  }
  const uint64_t inside = prefix_parity(quotes) ^ in_string_;
  in_string_ = (inside >> 63) != 0 ? ~uint64_t{0} : 0;
  return {masks.opens & ~inside, masks.closes & ~inside};
}

ElementScan::Found ElementScan::scan(const char* text, size_t size, bool last, size_t& used) {
  Found found;
  used = 0;
  while (used < size) {
    char padded[64];
    const char* block_text = text + used;
    const size_t left = size - used;
    if (left < 64) {
      if (!last) break;
      std::memset(padded, ' ', sizeof padded);
      std::memcpy(padded, block_text, left);
      block_text = padded;
    }
    const BracketScan::Block block = brackets_.next(block_text);
    const int opened = count_bits(block.opens), closed = count_bits(block.closes);
    if (depth_ > closed) {  // stays inside of an element
      depth_ += opened - closed;
    } else {
      for (uint64_t bits = block.opens | block.closes; bits != 0; bits &= bits - 1) {
        const int at = __builtin_ctzll(bits);
        if (((block.opens >> at) & 1) != 0) {
          ++depth_;
          continue;
        }
        if (--depth_ == 0) found.last_end = used + static_cast<size_t>(at) + 1;
        if (depth_ < 0) {
          found.closed = true;
          found.closed_at = used + static_cast<size_t>(at);
          return found;
        }
      }
    }
    used += left < 64 ? left : 64;
  }
  return found;
}

bool has_word_for_no_number(std::string_view text) {
  size_t at = 0;
#if defined(__SSE2__)
  // The first and third letters: every text of PyTorch has "Input", hardly one has "I?f" or "N?N".
  const auto starts = [](const char* from, char first, char third) {
    const __m128i begin = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m128i behind = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2));
    return _mm_and_si128(_mm_cmpeq_epi8(begin, _mm_set1_epi8(first)),
                         _mm_cmpeq_epi8(behind, _mm_set1_epi8(third)));
  };
  constexpr size_t kBlock = 16, kReadAhead = 2;
  for (; at + kBlock + kReadAhead <= text.size(); at += kBlock) {
    const char* const from = text.data() + at;
    const __m128i found = _mm_or_si128(starts(from, 'N', 'N'), starts(from, 'I', 'f'));
    if (_mm_movemask_epi8(found) == 0) continue;
    // "Infinity" may begin at the last byte of the block.
    const std::string_view near = text.substr(at, kBlock + 7);
    if (near.find("NaN") != near.npos || near.find("Infinity") != near.npos) return true;
  }
#endif
  const std::string_view rest = text.substr(at);
  return rest.find("NaN") != rest.npos || rest.find("Infinity") != rest.npos;
}

}  // namespace sonde::importers
