// join(): what is said of each of several things, in one text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace sonde {

// The text of each item, text_of(item) or one of its members, with separators between: "a, b, c".
template <typename Items, typename TextOf>
std::string join(const Items& items, std::string_view separator, TextOf text_of) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) text += separator;
    text += std::invoke(text_of, item);
  }
  return text;
}

}  // namespace sonde
