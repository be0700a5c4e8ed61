// Calls and times by name: the aggregation most analyses begin with.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "report/report.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct Total {
  trace::NameId name = 0;
  int64_t calls = 0;
  int64_t total_ns = 0;
  int64_t min_ns = std::numeric_limits<int64_t>::max();
  int64_t max_ns = 0;
  int64_t mean_ns() const { return calls == 0 ? 0 : total_ns / calls; }  // rounded down

  void add(int64_t duration_ns) {
    ++calls;
    total_ns += duration_ns;
    min_ns = duration_ns < min_ns ? duration_ns : min_ns;
    max_ns = duration_ns > max_ns ? duration_ns : max_ns;
  }
};

// Largest total first; equal totals by name.
void sort_totals(std::vector<Total>& totals, const std::vector<std::string>& names);

// Totals of the operations for which wanted(op) holds, by label.
template <typename Wanted>
std::vector<Total> op_totals(const trace::Trace& trace, Wanted wanted) {
  std::vector<Total> by_name(trace.names.size());
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (wanted(i)) by_name[trace.label(i)].add(trace.op_ns(i));
  }
  std::vector<Total> totals;
  for (size_t i = 0; i < by_name.size(); ++i) {
    if (by_name[i].calls == 0) continue;
    by_name[i].name = static_cast<trace::NameId>(i);
    totals.push_back(by_name[i]);
  }
  sort_totals(totals, trace.names);
  return totals;
}

int64_t sum_ns(const std::vector<Total>& totals);

// 100 * part / whole; unknown when the whole is nothing.
report::Value percent_of(int64_t part, int64_t whole);

// The table name, calls, total_ns, mean_ns, min_ns, max_ns, percentage that top and ktop share.
report::Table totals_table(const trace::Trace& trace, const std::vector<Total>& totals);

// False for files that say when operations began and not how long they ran: logs. Their times are
// not zero, they are not known.
bool has_op_times(const trace::Trace& trace);
// What a table about the time of operations says when it is empty.
const char* no_op_times(const trace::Trace& trace);

// A Report with what all analyses say: file, warnings, clipped events.
report::Report begin_report(const char* name, const trace::Trace& trace);

}  // namespace sonde::analysis
