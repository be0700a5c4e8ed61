// Packed values: keep records of many small numbers short. In a burst of records, most of a
// thread's cost is the pages that they fill.
//
//   [lengths] a nibble per value, low half first: how many bytes of it follow, 0 to 8
//   [values]  those bytes, lowest first, without gaps
#pragma once

#include <stdint.h>
#include <string.h>

namespace sonde::wire {

// The most bytes for so many values, including what the packer may write past the end.
constexpr uint64_t packed_room(uint64_t count) { return (count + 1) / 2 + count * 8 + 8; }

class Packer {
 public:
  Packer(char* place, uint64_t count) : lengths_(place), values_(place + (count + 1) / 2) {}

  // Two at a time: their lengths share a byte.
  void add(uint64_t first, uint64_t second) {
    *lengths_++ = static_cast<char>(put(first) | put(second) << 4);
  }
  void add(const uint64_t* values, uint64_t count) {
    for (; count >= 2; count -= 2, values += 2) add(values[0], values[1]);
    if (count != 0) add(values[0], 0);  // the 0 takes no byte
  }
  // Behind the last value, with zeros up to the next multiple of 8.
  char* end() {
    memset(values_, 0, 8);
    return values_;
  }

 private:
  // Many values are 0, usually the same ones each time, so the branch predicts well.
  uint64_t put(uint64_t value) {
    if (value == 0) return 0;
    memcpy(values_, &value, 8);
    const uint64_t bytes = static_cast<uint64_t>(63 ^ __builtin_clzll(value)) / 8 + 1;
    values_ += bytes;
    return bytes;
  }

  char* lengths_;
  char* values_;
};

// Reads what a Packer wrote; safe on any bytes.
class Unpacker {
 public:
  Unpacker(const char* place, uint64_t bytes, uint64_t count)
      : lengths_(place), values_(place + (count + 1) / 2), end_(place + bytes) {
    good_ = (count + 1) / 2 <= bytes;
  }

  uint64_t next() {
    const uint64_t bytes =
        good_ ? (odd_ ? static_cast<uint8_t>(*lengths_) >> 4 : *lengths_ & 15) : 0;
    if (odd_) ++lengths_;
    odd_ = !odd_;
    if (bytes > 8 || bytes > static_cast<uint64_t>(end_ - values_)) {
      good_ = false;
      return 0;
    }
    uint64_t value = 0;
    memcpy(&value, values_, bytes);
    values_ += bytes;
    return value;
  }
  bool good() const { return good_; }

 private:
  const char* lengths_;
  const char* values_;
  const char* end_;
  bool good_, odd_ = false;
};

}  // namespace sonde::wire
