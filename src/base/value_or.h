// value_or(): what a map has for a key, or else another value.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

namespace sonde {

// Texts come as views of those in the map, or of the fallback.
template <typename Map>
using FoundIn = std::conditional_t<std::is_same_v<typename Map::mapped_type, std::string>,
                                   std::string_view, typename Map::mapped_type>;

template <typename Map>
FoundIn<Map> value_or(const Map& map, const typename Map::key_type& key,
                      FoundIn<Map> fallback = {}) {
  const auto found = map.find(key);
  return found == map.end() ? fallback : FoundIn<Map>(found->second);
}

}  // namespace sonde
