#include "base/terminal_line.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/time.h"

namespace sonde {
namespace {

bool on_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

TerminalLine::TerminalLine(bool wanted, int64_t redraw_ns, int64_t last_ns)
    : active_(wanted && on_terminal()), redraw_ns_(redraw_ns), last_ns_(last_ns) {}

bool TerminalLine::is_due() {
  const int64_t now = monotonic_now_ns();
  if (!active_ || now - last_ns_ < redraw_ns_) return false;
  last_ns_ = now;
  return true;
}

void TerminalLine::draw(const std::string& text) {
  const std::string line = "\r\x1b[K[sonde] " + text;
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  drawn_ = true;
}

void TerminalLine::clear() {
  if (drawn_) (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
  drawn_ = false;
}

}  // namespace sonde
