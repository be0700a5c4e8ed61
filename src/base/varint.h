// Numbers of seven bits a byte, the lowest first, as Protocol Buffers and the spool have them.
#pragma once

#include <cstdint>
#include <string_view>

namespace sonde {

// Takes one from the beginning of `from`. False if there is no whole one.
inline bool take_varint(std::string_view& from, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(from[i]);
    value |= uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte < 0x80) {
      from.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

}  // namespace sonde
