// numbered(): numbers values in the order in which they are first seen.
#pragma once

#include <utility>

namespace sonde {

// The index in `list` for `key`. A key that the map `known` lacks is appended: as `values`, or else
// the key itself.
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
