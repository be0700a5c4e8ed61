#include "gpu/message_pack.h"

namespace sonde::gpu {
namespace {

constexpr int kDeepest = 32;

class PackReader {
 public:
  explicit PackReader(std::span<const uint8_t> bytes) : rest_(bytes) {}

  bool read(PackedValue& value, int depth) {
    uint64_t tag = 0;
    if (depth > kDeepest || !big_endian(1, tag)) return false;
    if (tag < 0x80) return number(value, tag);
    if (tag < 0x90) return map(value, tag & 15, depth);
    if (tag < 0xa0) return array(value, tag & 15, depth);
    if (tag < 0xc0) return text(value, tag & 31);
    if (tag >= 0xe0) return number(value, tag | ~uint64_t{0xff});
    return read_tagged(value, tag, depth);
  }

 private:
  bool read_tagged(PackedValue& value, uint64_t tag, int depth) {
    uint64_t size = 0;
    switch (tag) {
      case 0xc0:  // nil
        return true;
      case 0xc2:
      case 0xc3:
        return number(value, tag & 1);
      case 0xc4:  // bytes
      case 0xc5:
      case 0xc6:
        value.kind = PackedValue::Kind::kOther;
        return big_endian(size_t{1} << (tag - 0xc4), size) && skip(size);
      case 0xca:  // floating point
      case 0xcb:
        value.kind = PackedValue::Kind::kOther;
        return skip(tag == 0xca ? 4 : 8);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return big_endian(size_t{1} << (tag - 0xcc), size) && number(value, size);
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3: {
        const unsigned bits = 8u << (tag - 0xd0);
        if (!big_endian(bits / 8, size)) return false;
        const auto wide = static_cast<int64_t>(size << (64 - bits)) >> (64 - bits);
        return number(value, static_cast<uint64_t>(wide));
      }
      case 0xd9:
      case 0xda:
      case 0xdb:
        return big_endian(size_t{1} << (tag - 0xd9), size) && text(value, size);
      case 0xdc:
      case 0xdd:
        return big_endian(tag == 0xdc ? 2 : 4, size) && array(value, size, depth);
      case 0xde:
      case 0xdf:
        return big_endian(tag == 0xde ? 2 : 4, size) && map(value, size, depth);
      default:  // extension types do not occur in code objects
        return false;
    }
  }

  bool big_endian(size_t bytes, uint64_t& value) {
    if (rest_.size() < bytes) return false;
    value = 0;
    for (size_t i = 0; i < bytes; ++i) value = value << 8 | rest_[i];
    rest_ = rest_.subspan(bytes);
    return true;
  }
  bool skip(uint64_t bytes) {
    if (rest_.size() < bytes) return false;
    rest_ = rest_.subspan(bytes);
    return true;
  }
  static bool number(PackedValue& value, uint64_t found) {
    value.kind = PackedValue::Kind::kNumber;
    value.number = found;
    return true;
  }
  bool text(PackedValue& value, uint64_t bytes) {
    value.kind = PackedValue::Kind::kText;
    if (rest_.size() < bytes) return false;
    value.text = {reinterpret_cast<const char*>(rest_.data()), static_cast<size_t>(bytes)};
    return skip(bytes);
  }
  // An element takes at least a byte, so a count larger than the rest is wrong.
  bool array(PackedValue& value, uint64_t count, int depth) {
    value.kind = PackedValue::Kind::kArray;
    if (count > rest_.size()) return false;
    for (uint64_t i = 0; i < count; ++i) {
      if (!read(value.items.emplace_back(), depth + 1)) return false;
    }
    return true;
  }
  bool map(PackedValue& value, uint64_t count, int depth) {
    value.kind = PackedValue::Kind::kMap;
    if (count > rest_.size() / 2) return false;
    for (uint64_t i = 0; i < count; ++i) {
      if (!read(value.keys.emplace_back(), depth + 1)) return false;
      if (!read(value.items.emplace_back(), depth + 1)) return false;
    }
    return true;
  }

  std::span<const uint8_t> rest_;
};

}  // namespace

const PackedValue* PackedValue::find(std::string_view key) const {
  for (size_t i = 0; i < keys.size() && i < items.size(); ++i) {
    if (keys[i].kind == Kind::kText && keys[i].text == key) return &items[i];
  }
  return nullptr;
}

uint64_t PackedValue::number_of(std::string_view key) const {
  const PackedValue* value = find(key);
  return value != nullptr && value->kind == Kind::kNumber ? value->number : 0;
}

std::string_view PackedValue::text_of(std::string_view key) const {
  const PackedValue* value = find(key);
  return value != nullptr && value->kind == Kind::kText ? value->text : std::string_view{};
}

std::optional<PackedValue> read_message_pack(std::span<const uint8_t> bytes) {
  PackedValue value;
  if (!PackReader(bytes).read(value, 0)) return std::nullopt;
  return value;
}

}  // namespace sonde::gpu
