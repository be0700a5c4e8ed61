#include "record/status_line.h"

#include <fmt/format.h>

#include <string>

#include "base/strings.h"

namespace sonde::record {

void StatusLine::update(const Figures& figures) {
  if (!line_.is_due()) return;
  const int64_t now = monotonic_now_ns();
  const double seconds = static_cast<double>(now - last_ns_) / 1e9;
  const double rate =
      seconds > 0 ? static_cast<double>(figures.events - last_events_) / seconds : 0;
  last_ns_ = now;
  last_events_ = figures.events;
  std::string line =
      fmt::format("{:.1f} s  {} events ({}/s)  trace {}",
                  static_cast<double>(now - started_ns_) / 1e9, format_count(figures.events),
                  format_count(static_cast<uint64_t>(rate)), format_size(figures.file_bytes));
  if (figures.spool_bytes > (64 << 20)) line += "  waiting " + format_size(figures.spool_bytes);
  if (figures.processes > 1) line += fmt::format("  {} processes", figures.processes);
  if (figures.lost != 0) line += fmt::format("  {} DROPPED", format_count(figures.lost));
  line_.draw(line);
}

}  // namespace sonde::record
