// join(): a list as one text, with something between its items.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace sonde {

// `text` says what stands for an item: a member, or a function of it; without it the item itself.
template <typename List, typename Text = std::identity>
std::string join(const List& list, std::string_view between, Text text = {}) {
  std::string joined;
  bool first = true;
  for (const auto& item : list) {
    fmt::format_to(std::back_inserter(joined), "{}{}", first ? "" : between,
                   std::invoke(text, item));
    first = false;
  }
  return joined;
}

}  // namespace sonde
