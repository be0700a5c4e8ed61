#include "cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "base/printable.h"
#include "base/strings.h"
#include "base/time.h"

namespace sonde::cli {

namespace {

constexpr int64_t kRedrawNs = 200'000'000;

bool on_terminal() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

ProgressLine::ProgressLine() : active_(on_terminal()), last_ns_(monotonic_now_ns()) {}
ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::update(const std::string& what, uint64_t done, uint64_t total) {
  const int64_t now = monotonic_now_ns();
  if (!active_ || now - last_ns_ < kRedrawNs) return;
  last_ns_ = now;
  std::string line =
      fmt::format("\r\x1b[K[sonde] {}  {}", printable(what, Lines::kJoin), format_size(done));
  if (total > 0) line += fmt::format(" of {}  {}%", format_size(total), done * 100 / total);
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  drawn_ = true;
}

void ProgressLine::clear() {
  if (drawn_) (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
  drawn_ = false;
}

}  // namespace sonde::cli
