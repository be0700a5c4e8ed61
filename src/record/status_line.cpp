#include "record/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/strings.h"
#include "base/time.h"

namespace sonde::record {

namespace {

bool on_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

StatusLine::StatusLine(bool wanted)
    : active_(wanted && on_terminal()), started_ns_(monotonic_now_ns()) {}

StatusLine::~StatusLine() { clear(); }

void StatusLine::update(const Figures& figures) {
  const int64_t now = monotonic_now_ns();
  if (!active_ || now - last_ns_ < 500'000'000) return;
  const double seconds = static_cast<double>(now - (last_ns_ != 0 ? last_ns_ : started_ns_)) / 1e9;
  const double rate =
      seconds > 0 ? static_cast<double>(figures.events - last_events_) / seconds : 0;
  last_ns_ = now;
  last_events_ = figures.events;
  std::string line =
      fmt::format("\r\x1b[K[sonde] {:.1f} s  {} events ({}/s)  trace {}",
                  static_cast<double>(now - started_ns_) / 1e9, format_count(figures.events),
                  format_count(static_cast<uint64_t>(rate)), format_size(figures.file_bytes));
  if (figures.spool_bytes > (64 << 20)) line += "  waiting " + format_size(figures.spool_bytes);
  if (figures.processes > 1) line += fmt::format("  {} processes", figures.processes);
  if (figures.lost != 0) line += fmt::format("  {} DROPPED", format_count(figures.lost));
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  drawn_ = true;
}

void StatusLine::clear() {
  if (drawn_) (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
  drawn_ = false;
}

}  // namespace sonde::record
