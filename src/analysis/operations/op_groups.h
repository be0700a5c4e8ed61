// The engine behind every table of operations: puts those that are wanted into groups by what a
// user may ask for (name, stream, operator ...), adds up each group, and on request computes the
// spread of its durations. Used by kernels, top, ktop, copies, counters, overlap, stats, diff,
// findings.
#pragma once

#include <string>
#include <vector>

#include "analysis/groups.h"

namespace sonde::analysis {

struct OpGroup {
  std::vector<report::Value> key;  // as many values as OpGroups::columns
  Total time;
  // The operations whose size is known; only with Request::op_bytes.
  int64_t sized_calls = 0, sized_ns = 0, bytes = 0;
  const std::string& name() const { return std::get<std::string>(key.front()); }
};

struct OpGroups {
  std::vector<report::Column> columns;  // that say which group it is
  std::vector<OpGroup> groups;          // largest total first, equal ones by key
  std::vector<uint32_t> group_of;       // by row; kNoGroup where it is not wanted
  int64_t total_ns() const;
};

// What --by takes, and what a trace must be loaded with for it.
const std::vector<std::string>& op_group_names();
void add_needs_of_group(const std::string& by, trace::Request& request);

// Which operations are looked at, by row.
template <typename Wanted>
std::vector<bool> ops_where(const trace::Trace& trace, Wanted is_wanted) {
  std::vector<bool> wanted(trace.ops.size());
  for (size_t op = 0; op < wanted.size(); ++op) wanted[op] = is_wanted(op);
  return wanted;
}
std::vector<bool> all_ops(const trace::Trace& trace);
std::vector<bool> kernels_of(const trace::Trace& trace);

// A group for each combination of the properties `by` that comes. Linear.
OpGroups group_ops(const trace::Trace& trace, const std::vector<std::string>& by,
                   const std::vector<bool>& wanted);

// Figures that need all durations of a group.
struct OpSpread {
  Spread durations;
  int64_t busy_ns = 0;
};
std::vector<OpSpread> spread_of(const trace::Trace& trace, const OpGroups& groups);

// The groups, calls, total_ns, mean_ns, min_ns, max_ns, percentage: what top and ktop show.
report::Table totals_table(const OpGroups& groups);

}  // namespace sonde::analysis
