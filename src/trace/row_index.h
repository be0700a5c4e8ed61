// RowIndex: rows of a Trace by their ids in the file, for reading tables that refer to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace sonde::trace {

// Row in the trace by the id in the file.
class RowIndex {
 public:
  explicit RowIndex(const std::vector<int64_t>& ids) : ids_(ids) {
    sorted_ = std::is_sorted(ids.begin(), ids.end());
    if (!sorted_) {
      for (size_t i = 0; i < ids.size(); ++i) row_of_.emplace(ids[i], i);
    }
  }
  // nullopt for one that is not in the trace.
  std::optional<size_t> row(int64_t id) {
    if (!sorted_) {
      const auto found = row_of_.find(id);
      return found == row_of_.end() ? std::nullopt : std::optional(found->second);
    }
    if (next_ < ids_.size() && ids_[next_] == id) return next_++;  // both in the order of the file
    const auto found = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (found == ids_.end() || *found != id) return std::nullopt;
    next_ = static_cast<size_t>(found - ids_.begin());
    return next_++;
  }

 private:
  const std::vector<int64_t>& ids_;
  std::unordered_map<int64_t, size_t> row_of_;
  bool sorted_ = true;
  size_t next_ = 0;
};

}  // namespace sonde::trace
