#include "fault/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sonde::fault {

std::string value_text(const char* data, uint32_t bytes, const std::string& type) {
  uint64_t word = 0;
  std::memcpy(&word, data, std::min<size_t>(bytes, sizeof word));
  if (type == "float" && bytes == 4) {
    float value = 0;
    std::memcpy(&value, data, 4);
    return fmt::format("{}", value);
  }
  if (type == "double" && bytes == 8) {
    double value = 0;
    std::memcpy(&value, data, 8);
    return fmt::format("{}", value);
  }
  if (bytes == 4 && type.find("unsigned") == type.npos && type.find("uint") == type.npos) {
    return fmt::format("{}", static_cast<int32_t>(word));
  }
  if (bytes <= 8) return fmt::format("{}", word);
  std::string text;
  for (uint32_t i = 0; i < std::min(bytes, 64U); ++i) {
    text += fmt::format("{}{:02x}", i != 0 && i % 8 == 0 ? " " : "", static_cast<uint8_t>(data[i]));
  }
  return text + (bytes > 64 ? " ..." : "");
}

}  // namespace sonde::fault
