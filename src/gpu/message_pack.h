// MessagePack, as far as the notes of code objects use it: parses bytes into a tree of values. Any
// bytes are safe to read; input that is truncated or nested too deeply gives nullopt. Private to
// code_object.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sonde::gpu {

struct PackedValue {
  enum class Kind : uint8_t { kNil, kNumber, kText, kArray, kMap, kOther };
  Kind kind = Kind::kNil;
  uint64_t number = 0;    // booleans are 0 or 1, negative numbers two's complement
  std::string_view text;  // points into the input
  std::vector<PackedValue> items;
  std::vector<PackedValue> keys;  // of a map; the values are in `items`

  // The value of a map's key, nullptr if there is none.
  const PackedValue* find(std::string_view key) const;
  uint64_t number_of(std::string_view key) const;        // 0 if there is none
  std::string_view text_of(std::string_view key) const;  // "" if there is none
};

std::optional<PackedValue> read_message_pack(std::span<const uint8_t> bytes);

}  // namespace sonde::gpu
