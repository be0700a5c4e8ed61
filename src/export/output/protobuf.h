// ProtoBuffer: writes Protocol Buffers messages, the few wire types that Perfetto's formats use.
// Messages nest: what is written while a ProtoMessage exists is in it. Its length is one byte until
// its end knows that it needs more.
// The bytes stay in memory until the caller takes them, so keep a buffer to some hundred KB.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/pinned.h"

namespace sonde::exporting {

class ProtoBuffer {
 public:
  explicit ProtoBuffer(size_t capacity = 4096) : bytes_(capacity) {}

  std::string_view view() const { return {bytes_.data(), size_}; }
  size_t size() const { return size_; }
  void clear() { size_ = 0; }

  // A negative value is written as its 64-bit two's complement, as int32 and int64 fields want.
  void varint(uint32_t field, uint64_t value) {
    char* out = room(kMaxVarint * 2);
    out = put_varint(out, field << 3);
    set_end(put_varint(out, value));
  }
  void fixed64(uint32_t field, uint64_t value) {
    char* out = put_varint(room(kMaxVarint + 8), field << 3 | 1);
    for (int i = 0; i < 8; ++i) *out++ = static_cast<char>(value >> (8 * i));
    set_end(out);
  }
  void real(uint32_t field, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    fixed64(field, bits);
  }
  void bytes(uint32_t field, std::string_view value) {
    char* out = room(kMaxVarint * 2 + value.size());
    out = put_varint(out, field << 3 | 2);
    out = put_varint(out, value.size());
    set_end(out + value.copy(out, value.size()));  // an empty view may hold no address
  }
  // Fields that were encoded before.
  void raw(std::string_view fields) {
    char* out = room(fields.size());
    set_end(out + fields.copy(out, fields.size()));
  }

  // Opens a nested message; end() gets what begin() returned.
  size_t begin(uint32_t field) {
    char* out = put_varint(room(kMaxVarint + 1), field << 3 | 2);
    set_end(out + 1);
    return size_;
  }
  void end(size_t body) {
    const size_t length = size_ - body;
    if (length < 0x80) {
      bytes_[body - 1] = static_cast<char>(length);
      return;
    }
    char header[kMaxVarint];
    const size_t header_size = static_cast<size_t>(put_varint(header, length) - header);
    room(header_size);
    std::memmove(bytes_.data() + body - 1 + header_size, bytes_.data() + body, length);
    std::memcpy(bytes_.data() + body - 1, header, header_size);
    size_ += header_size - 1;
  }

 private:
  static constexpr size_t kMaxVarint = 10;

  static char* put_varint(char* out, uint64_t value) {
    while (value >= 0x80) {
      *out++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *out++ = static_cast<char>(value);
    return out;
  }
  char* room(size_t size) {
    if (bytes_.size() - size_ < size) bytes_.resize(bytes_.size() * 2 + size);
    return bytes_.data() + size_;
  }
  void set_end(const char* end) { size_ = static_cast<size_t>(end - bytes_.data()); }

  std::vector<char> bytes_;
  size_t size_ = 0;
};

class ProtoMessage : Pinned {
 public:
  ProtoMessage(ProtoBuffer& out, uint32_t field) : out_(out), body_(out.begin(field)) {}
  ~ProtoMessage() noexcept(false) { out_.end(body_); }  // there may be no memory

 private:
  ProtoBuffer& out_;
  const size_t body_;
};

}  // namespace sonde::exporting
