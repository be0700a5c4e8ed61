#include "analysis/totals.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace sonde::analysis {

report::Value percent_of(int64_t part, int64_t whole) {
  if (whole == 0) return std::monostate{};
  return static_cast<double>(part) * 100.0 / static_cast<double>(whole);
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
