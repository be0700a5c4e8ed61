#include "analysis/totals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace sonde::analysis {

using report::Kind;

void sort_totals(std::vector<Total>& totals, const std::vector<std::string>& names) {
  std::sort(totals.begin(), totals.end(), [&](const Total& a, const Total& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : names[a.name] < names[b.name];
  });
}

int64_t sum_ns(const std::vector<Total>& totals) {
  int64_t sum = 0;
  for (const Total& total : totals) sum += total.total_ns;
  return sum;
}

report::Value percent_of(int64_t part, int64_t whole) {
  if (whole == 0) return std::monostate{};
  return static_cast<double>(part) * 100.0 / static_cast<double>(whole);
}

report::Table totals_table(const trace::Trace& trace, const std::vector<Total>& totals) {
  report::Table table;
  table.add_column({"name", "Name", Kind::kName});
  table.add_column({"calls", "Calls", Kind::kInteger});
  table.add_column({"total_ns", "Total", Kind::kTime, 0, true});
  table.add_column({"mean_ns", "Mean", Kind::kTime, 0, true});
  table.add_column({"min_ns", "Min", Kind::kTime, 0, true});
  table.add_column({"max_ns", "Max", Kind::kTime, 0, true});
  table.add_column({"percentage", "Share", Kind::kPercent, 6});
  const int64_t whole = sum_ns(totals);
  for (const Total& total : totals) {
    table.add_row({trace.names[total.name], total.calls, total.total_ns, total.mean_ns(),
                   total.min_ns, total.max_ns, percent_of(total.total_ns, whole)});
  }
  return table;
}

bool has_op_times(const trace::Trace& trace) {
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.op_ns(i) > 0) return true;
  }
  return false;
}

const char* no_op_times(const trace::Trace& trace) {
  return trace.ops.size() == 0 ? "No operations of a device."
                               : "No operation has a duration: the file does not tell their times.";
}

report::Report begin_report(const char* name, const trace::Trace& trace) {
  report::Report report;
  report.name = name;
  report.subject = trace.path;
  report.warnings = trace.warnings;
  const uint64_t clipped = trace.changed.clipped_ops + trace.changed.clipped_apis;
  if (clipped != 0) {
    report.notes.push_back(
        fmt::format("{} {} over the edge of the window and count with the part inside",
                    format_count(clipped), clipped == 1 ? "event reaches" : "events reach"));
  }
  if (trace.ops.size() != 0 && !has_op_times(trace)) {
    report.notes.push_back("the file has no times of operations: zeros are not measured");
  }
  return report;
}

}  // namespace sonde::analysis
