// Cursor: parses a section of unwind information. A read past the end fails, and so do all later
// ones. Runs in a signal handler.
#pragma once

#include <stdint.h>
#include <string.h>

namespace sonde::cpu {

class Cursor {
 public:
  // `moved`: what to add to a pointer into a copy for the address that it was copied from.
  Cursor(const uint8_t* at, const uint8_t* end, uint64_t moved = 0)
      : at_(at), end_(at <= end ? end : at), moved_(moved) {}

  template <typename T>
  T take() {
    T value = {};
    if (static_cast<uint64_t>(end_ - at_) < sizeof value) {
      fail();
    } else {
      memcpy(&value, at_, sizeof value);
      at_ += sizeof value;
    }
    return value;
  }
  uint64_t unsigned_leb() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
      const auto byte = take<uint8_t>();
      value |= uint64_t{byte & 127u} << shift;
      if ((byte & 128) == 0) break;
    }
    return value;
  }
  int64_t signed_leb() {
    uint64_t value = 0;
    uint32_t shift = 0;
    uint8_t byte = 128;
    while ((byte & 128) != 0 && shift < 64) {
      byte = take<uint8_t>();
      value |= uint64_t{byte & 127u} << shift;
      shift += 7;
    }
    if (shift < 64 && (byte & 64) != 0) value |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(value);
  }
  void skip(uint64_t bytes) {
    if (static_cast<uint64_t>(end_ - at_) < bytes) return fail();
    at_ += bytes;
  }
  const uint8_t* at() const { return at_; }
  const uint8_t* end() const { return end_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(at_) + moved_; }
  bool good() const { return good_; }
  bool more() const { return good_ && at_ < end_; }

 private:
  void fail() {
    good_ = false;
    at_ = end_;
  }
  const uint8_t *at_, *end_;
  uint64_t moved_;
  bool good_ = true;
};

}  // namespace sonde::cpu
