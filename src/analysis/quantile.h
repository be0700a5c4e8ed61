// Order statistics of integer durations. Both reorder what they are given; an empty span gives 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace sonde::analysis {

// Nearest rank: the smallest value that at least `percent` % of the values do not exceed.
inline int64_t quantile(std::span<int64_t> values, size_t percent) {
  if (values.empty()) return 0;
  const size_t rank = std::max<size_t>(1, (values.size() * percent + 99) / 100);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank - 1),
                   values.end());
  return values[rank - 1];
}

// The middle value, or the mean of the two middle ones rounded down.
inline int64_t median(std::span<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  const int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace sonde::analysis
