// IdIndex: row ids of a table -> dense indices 0, 1, 2 ... in the order of add(). Ids of an .rpd
// are runs of consecutive numbers (one run per process or session), so a table of runs replaces a
// hash map: a few bytes for millions of rows, and a lookup that mostly hits the run of the last
// one. Used by the exporters to join tables in memory. Ids added out of order are found as well.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde::exporting {

class IdIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void add(int64_t id) {
    if (!runs_.empty() && runs_.back().goes_on_with(id)) {
      ++runs_.back().count;
    } else {
      if (!runs_.empty() && id < runs_.back().first) sorted_ = false;
      runs_.push_back({id, 1, size_});
    }
    ++size_;
  }

  // Once after the last add(), before the first find().
  void finish() {
    if (sorted_) return;
    std::stable_sort(runs_.begin(), runs_.end(),
                     [](const Run& a, const Run& b) { return a.first < b.first; });
    sorted_ = true;
  }

  uint32_t find(int64_t id) const {
    if (last_ < runs_.size() && runs_[last_].holds(id)) return runs_[last_].index_of(id);
    const auto after = std::upper_bound(runs_.begin(), runs_.end(), id,
                                        [](int64_t a, const Run& b) { return a < b.first; });
    if (after == runs_.begin() || !std::prev(after)->holds(id)) return kNone;
    last_ = static_cast<size_t>(std::prev(after) - runs_.begin());
    return runs_[last_].index_of(id);
  }

  uint32_t size() const { return size_; }

 private:
  struct Run {
    int64_t first;
    int64_t count;
    uint32_t index;
    bool goes_on_with(int64_t id) const {
      return static_cast<uint64_t>(id) - static_cast<uint64_t>(first) ==
             static_cast<uint64_t>(count);
    }
    // Unsigned: the difference of two far ids may not fit into int64_t.
    bool holds(int64_t id) const {
      return id >= first && static_cast<uint64_t>(id) - static_cast<uint64_t>(first) <
                                static_cast<uint64_t>(count);
    }
    uint32_t index_of(int64_t id) const {
      return index +
             static_cast<uint32_t>(static_cast<uint64_t>(id) - static_cast<uint64_t>(first));
    }
  };
  std::vector<Run> runs_;
  uint32_t size_ = 0;
  bool sorted_ = true;
  mutable size_t last_ = 0;
};

}  // namespace sonde::exporting
