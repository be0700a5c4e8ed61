// Rows by group, and how the durations of a group spread. Used by op_groups.h and where rows are
// grouped by something else: launches, operators, queues, variability.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/totals.h"
#include "trace/trace.h"

namespace sonde::analysis {

// The rows of each group, in the order in which they were; groups are numbered from 0.
struct Groups {
  std::vector<uint32_t> rows;
  std::vector<size_t> begin;  // begin[group + 1] is the end
  size_t size() const { return begin.size() - 1; }
  std::span<const uint32_t> of(size_t group) const {
    return {rows.data() + begin[group], begin[group + 1] - begin[group]};
  }
};

constexpr uint32_t kNoGroup = ~uint32_t{0};  // the row is in no group

// group_of[row] < groups, or kNoGroup. Linear.
Groups group_rows(const std::vector<uint32_t>& group_of, size_t groups);

struct Spread : Total {
  int64_t median_ns = 0, p95_ns = 0;
  double deviation_ns = 0;   // of the sample (n - 1); 0 for one call
  report::Value cv() const;  // deviation / mean; unknown for one call, or without time
};
Spread spread_of(std::vector<int64_t>& durations);  // reorders them

// The time in which at least one of these operations ran; on several GPUs that of each, added up.
// `rows` must be in the order of the trace.
int64_t busy_ns(const trace::Trace& trace, std::span<const uint32_t> rows);

// From the first start to the last end of operations, or the window: what shares of wall are of.
int64_t wall_ns(const trace::Trace& trace);

}  // namespace sonde::analysis
