#include "analysis/groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "analysis/quantile.h"

namespace sonde::analysis {

Groups group_rows(const std::vector<uint32_t>& group_of, size_t groups) {
  Groups grouped;
  grouped.begin.assign(groups + 1, 0);
  for (const uint32_t group : group_of) {
    if (group != kNoGroup) ++grouped.begin[group + 1];
  }
  std::partial_sum(grouped.begin.begin(), grouped.begin.end(), grouped.begin.begin());
  std::vector<size_t> next(grouped.begin.begin(), grouped.begin.end() - 1);
  grouped.rows.resize(grouped.begin.back());
  for (size_t row = 0; row < group_of.size(); ++row) {
    if (group_of[row] != kNoGroup) grouped.rows[next[group_of[row]]++] = static_cast<uint32_t>(row);
  }
  return grouped;
}

report::Value Spread::cv() const {
  if (calls < 2 || total_ns == 0) return std::monostate{};
  return deviation_ns / (static_cast<double>(total_ns) / static_cast<double>(calls));
}

Spread spread_of(std::vector<int64_t>& durations) {
  Spread spread;
  for (const int64_t duration : durations) spread.add(duration);
  const double mean = static_cast<double>(spread.total_ns) / static_cast<double>(spread.calls);
  double squares = 0;
  for (const int64_t duration : durations) {
    const double difference = static_cast<double>(duration) - mean;
    squares += difference * difference;
  }
  if (spread.calls > 1) {
    spread.deviation_ns = std::sqrt(squares / static_cast<double>(spread.calls - 1));
  }
  spread.median_ns = median(durations);
  spread.p95_ns = quantile(durations, 95);
  return spread;
}

int64_t busy_ns(const trace::Trace& trace, std::span<const uint32_t> rows) {
  int64_t busy = 0;
  std::map<int64_t, int64_t> covered_until;  // by GPU
  int64_t gpu = 0;
  int64_t* until = nullptr;
  for (const uint32_t row : rows) {
    if (until == nullptr || trace.ops.gpu[row] != gpu) {
      gpu = trace.ops.gpu[row];
      until = &covered_until.try_emplace(gpu, std::numeric_limits<int64_t>::min()).first->second;
    }
    const int64_t start_ns = std::max(trace.ops.start_ns[row], *until);
    if (trace.ops.end_ns[row] > start_ns) {
      busy += trace.ops.end_ns[row] - start_ns;
      *until = trace.ops.end_ns[row];
    }
  }
  return busy;
}

int64_t wall_ns(const trace::Trace& trace) {
  if (trace.window) return trace.window->end_ns - trace.window->start_ns;
  if (trace.ops.size() == 0) return 0;
  const int64_t last = *std::max_element(trace.ops.end_ns.begin(), trace.ops.end_ns.end());
  return last - trace.ops.start_ns.front();
}

}  // namespace sonde::analysis
