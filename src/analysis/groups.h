// Rows by group, and how the durations of a group spread: what every table of operations is made
// of. Used by kernels, copies, launches, operators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "report/report.h"
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

struct Spread {
  int64_t calls = 0, total_ns = 0;
  int64_t min_ns = 0, max_ns = 0, median_ns = 0, p95_ns = 0;
  double deviation_ns = 0;  // of the sample (n - 1); 0 for one call
  int64_t mean_ns() const { return calls == 0 ? 0 : total_ns / calls; }
  report::Value cv() const;  // deviation / mean; unknown for one call, or without time
};
Spread spread_of(std::vector<int64_t>& durations);  // reorders them

// The time in which at least one of these operations ran; on several GPUs that of each, added up.
// `rows` must be in the order of the trace.
int64_t busy_ns(const trace::Trace& trace, std::span<const uint32_t> rows);

// From the first start to the last end of operations, or the window: what shares of wall are of.
int64_t wall_ns(const trace::Trace& trace);

}  // namespace sonde::analysis
