// Numbering: dense numbers 0, 1, 2 ... for keys, in the order of first use. Rows come in bursts of
// few keys (the queues, threads and shapes in use), so the ones asked for last are tried first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace sonde::exporting {

template <typename Key>
class Numbering {
 public:
  // The number of `key`, and whether it is new.
  std::pair<uint32_t, bool> number(const Key& key) {
    for (size_t i = 0; i < recent_count_; ++i) {
      if (recent_[i].first == key) return {recent_[i].second, false};
    }
    const auto [at, added] = numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size()));
    recent_[next_recent_] = *at;
    next_recent_ = (next_recent_ + 1) % kRecent;
    recent_count_ = std::min(recent_count_ + 1, kRecent);
    return {at->second, added};
  }

 private:
  static constexpr size_t kRecent = 8;
  std::map<Key, uint32_t> numbers_;
  std::pair<Key, uint32_t> recent_[kRecent];
  size_t recent_count_ = 0, next_recent_ = 0;
};

}  // namespace sonde::exporting
