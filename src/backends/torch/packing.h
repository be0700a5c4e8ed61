// Packs nested lists of numbers as bytes for call_end (backend.h, kinds L and N): an even varint is
// a number, doubled; an odd one is the length of a list, doubled, plus one, and its elements
// follow. Fixed size; what does not fit marks the packing as full. libc only.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace sonde::torch {

constexpr size_t kPackedBytes = 320;  // two of these and two numbers fit a call's 96 words

class Packing {
 public:
  void number(uint64_t value) { varint(value << 1); }
  void list(uint64_t length) { varint(length << 1 | 1); }
  bool full() const { return full_; }
  size_t length() const { return length_; }
  // Drops what was packed since the length was `length`.
  void rewind(size_t length) {
    length_ = length;
    full_ = false;
  }

  // Writes the packing as a call's argument: the length in bytes, then the bytes. Returns the next
  // word.
  uint64_t* write(uint64_t* words) const {
    *words++ = length_;
    if (length_ == 0) return words;
    const size_t count = (length_ + 7) / 8;
    words[count - 1] = 0;
    memcpy(words, bytes_, length_);
    return words + count;
  }

 private:
  void varint(uint64_t value) {
    constexpr size_t kLongest = 10;
    if (length_ + kLongest > kPackedBytes) {
      full_ = true;
      return;
    }
    for (; value >= 0x80; value >>= 7) bytes_[length_++] = static_cast<uint8_t>(value | 0x80);
    bytes_[length_++] = static_cast<uint8_t>(value);
  }

  size_t length_ = 0;
  bool full_ = false;
  uint8_t bytes_[kPackedBytes];
};

}  // namespace sonde::torch
