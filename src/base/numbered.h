// numbered(): values in the order in which they are first seen, each with its place.
#pragma once

#include <utility>

namespace sonde {

// The place in `list` of what `key` stands for. Where the map `known` does not have it yet, it is
// put at the end: `values`, or else the key.
template <typename Known, typename List, typename... Values>
typename Known::mapped_type numbered(Known& known, List& list, typename Known::key_type key,
                                     Values&&... values) {
  const auto next = static_cast<typename Known::mapped_type>(list.size());
  const auto [entry, is_new] = known.try_emplace(std::move(key), next);
  if constexpr (sizeof...(values) == 0) {
    if (is_new) list.emplace_back(entry->first);
  } else {
    if (is_new) list.emplace_back(std::forward<Values>(values)...);
  }
  return entry->second;
}

}  // namespace sonde
