#include "analysis/totals.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace sonde::analysis {

report::Value percent_of(int64_t part, int64_t whole) {
  if (whole == 0) return std::monostate{};
  return static_cast<double>(part) * 100.0 / static_cast<double>(whole);
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
  return report;
}

}  // namespace sonde::analysis
