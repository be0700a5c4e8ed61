#include "analysis/totals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace sonde::analysis {

report::Value percent_of(int64_t part, int64_t whole) {
  if (whole == 0) return std::monostate{};
  return static_cast<double>(part) * 100.0 / static_cast<double>(whole);
}

report::Value ratio_of(int64_t part, int64_t whole) {
  if (whole == 0) return std::monostate{};
  return static_cast<double>(part) / static_cast<double>(whole);
}

bool has_op_times(const trace::Trace& trace) {
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.op_ns(i) > 0) return true;
  }
  return false;
}

const char* no_op_times(const trace::Trace& trace) {
  if (trace.ops.size() != 0) return "No operation has a duration: the file has no operation times.";
  if (trace.window) return "No device operations in this part of the trace.";
  // Others may be there; a warning says which.
  if (trace.gpu) return "No device operations.";
  return "No device operations. sonde stacks and sonde operators show CPU time.";
}

std::string clocks_text(const trace::Trace& trace) {
  constexpr int64_t kNearNs = 1000;  // clocks are compared no better
  constexpr uint64_t kFew = 100;     // one of so many may be wrong for other reasons
  uint64_t launched = 0, early = 0;
  int64_t most_ns = 0;
  for (size_t op = 0; op < trace.ops.size() && !trace.ops.api.empty(); ++op) {
    if (trace.ops.api[op] == trace::kNone) continue;
    ++launched;
    const int64_t ahead_ns =
        trace.apis.start_ns[static_cast<size_t>(trace.ops.api[op])] - trace.ops.start_ns[op];
    if (ahead_ns <= kNearNs) continue;
    ++early;
    most_ns = std::max(most_ns, ahead_ns);
  }
  if (early * kFew <= launched) return "";
  return fmt::format(
      "{} of {} operations begin before the calls that launched them, by up to {}: the clocks of "
      "GPU and host differ, and causes of idle time may be wrong by as much",
      format_count(early), format_count(launched), format_duration(most_ns));
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
    report.notes.push_back("the file has no operation times: the zeros are not measurements");
  }
  return report;
}

}  // namespace sonde::analysis
