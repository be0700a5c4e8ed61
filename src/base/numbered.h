// numbered() and Numbering: number values in the order in which they are first seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

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

// Numbers values that often come several times in a row: one that equals the last is not looked up.
template <typename Value, typename Known = std::map<Value, uint32_t>>
class Numbering {
 public:
  // Goes on after the values that are there, and appends to them; `values` must outlive this.
  explicit Numbering(std::vector<Value>& values) : values_(&values) {
    for (size_t i = 0; i < values.size(); ++i) {
      known_.try_emplace(values[i], static_cast<uint32_t>(i));
    }
  }
  uint32_t index(const Value& value) {
    if (last_ < values_->size() && (*values_)[last_] == value) return last_;
    return last_ = numbered(known_, *values_, value);
  }

 private:
  std::vector<Value>* values_;
  Known known_;
  uint32_t last_ = 0;
};

using TextNumbering = Numbering<std::string, std::unordered_map<std::string, uint32_t>>;

}  // namespace sonde
