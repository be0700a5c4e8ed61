// ProtoReader: the fields of one Protocol Buffers message, one after another. Used by the importers
// of Perfetto and XPlane. It never reads beyond the message; where the message is broken it ends,
// and broken() says so.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/varint.h"

namespace sonde::importers {

class ProtoReader {
 public:
  enum class Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  explicit ProtoReader(std::string_view message) : left_(message) {}

  // False at the end.
  bool next() {
    if (left_.empty() || broken_) return false;
    broken_ = !take_field();
    return !broken_;
  }
  bool broken() const { return broken_; }
  // Where the message ends within the bytes of field(): what there is of them.
  std::string_view cut() const { return cut_; }

  uint32_t field() const { return field_; }
  Wire wire() const { return wire_; }
  // A number of any wire type; 0 for bytes.
  uint64_t number() const { return number_; }
  int64_t integer() const { return static_cast<int64_t>(number_); }
  double real() const {
    double value = 0;
    if (wire_ == Wire::kFixed64) std::memcpy(&value, &number_, sizeof value);
    if (wire_ == Wire::kFixed32) {
      float narrow = 0;
      std::memcpy(&narrow, &number_, sizeof narrow);
      value = narrow;
    }
    return value;
  }
  // A text or a nested message; "" for numbers.
  std::string_view bytes() const { return bytes_; }

  // The same, by the type of what takes it. A vector takes one value after the other.
  template <std::integral T>
  void get(T& to) const {
    to = static_cast<T>(number_);
  }
  void get(double& to) const { to = real(); }
  void get(std::string_view& to) const { to = bytes_; }
  template <typename T>
  void get(std::optional<T>& to) const {
    get(to.emplace());
  }
  template <typename T>
  void get(std::vector<T>& to) const {
    get(to.emplace_back());
  }

 private:
  bool take_field() {
    uint64_t key = 0;
    if (!take_varint(left_, key) || key >> 3 == 0 || key >> 3 > 0x1FFFFFFF) return false;
    field_ = static_cast<uint32_t>(key >> 3);
    wire_ = static_cast<Wire>(key & 7);
    number_ = 0;
    bytes_ = {};
    switch (wire_) {
      case Wire::kVarint:
        return take_varint(left_, number_);
      case Wire::kFixed64:
        return take_fixed(8);
      case Wire::kFixed32:
        return take_fixed(4);
      case Wire::kBytes: {
        uint64_t size = 0;
        if (!take_varint(left_, size)) return false;
        if (size > left_.size()) {
          cut_ = left_;
          return false;
        }
        bytes_ = left_.substr(0, size);
        left_.remove_prefix(size);
        return true;
      }
    }
    return false;
  }
  bool take_fixed(size_t size) {
    if (left_.size() < size) return false;
    std::memcpy(&number_, left_.data(), size);
    left_.remove_prefix(size);
    return true;
  }

  std::string_view left_, bytes_, cut_;
  uint64_t number_ = 0;
  uint32_t field_ = 0;
  Wire wire_ = Wire::kVarint;
  bool broken_ = false;
};

// A field of a message, and what takes its value.
template <typename To>
struct ProtoField {
  ProtoField(uint32_t field, To& taker) : number(field), to(taker) {}
  uint32_t number;
  To& to;
};

// Reads these fields of a message; of several with one number the last one counts. The reader that
// comes back is at the end.
template <typename... To>
ProtoReader read_fields(std::string_view message, ProtoField<To>... fields) {
  ProtoReader reader(message);
  while (reader.next()) {
    ((reader.field() == fields.number ? reader.get(fields.to) : void()), ...);
  }
  return reader;
}

}  // namespace sonde::importers
