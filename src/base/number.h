// Parsing numbers in texts of other programs, independent of the locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace sonde {

// Parses a number at the start of `text`, and removes it from there; integers in `base`.
template <typename T>
std::optional<T> take_number(std::string_view& text, int base = 10) {
  T value = 0;
  const char* const last = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<T>) {
    read = std::from_chars(text.data(), last, value);
  } else {
    read = std::from_chars(text.data(), last, value, base);
  }
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  return value;
}

// Parses a text that must be one number as a whole.
template <typename T>
std::optional<T> number_in(std::string_view text, int base = 10) {
  const std::optional<T> value = take_number<T>(text, base);
  return text.empty() ? value : std::nullopt;
}

}  // namespace sonde
