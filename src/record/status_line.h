// The live status line of a recording, on a terminal only.
#pragma once

#include <cstdint>

#include "base/terminal_line.h"
#include "base/time.h"

namespace sonde::record {

class StatusLine {
 public:
  explicit StatusLine(bool wanted) : line_(wanted, 500'000'000, 0) {}
  struct Figures {
    uint64_t events = 0, file_bytes = 0, spool_bytes = 0, lost = 0;
    int processes = 0;
  };
  // Redraws at most twice a second.
  void update(const Figures& figures);
  void clear() { line_.clear(); }

 private:
  TerminalLine line_;
  const int64_t started_ns_ = monotonic_now_ns();
  int64_t last_ns_ = started_ns_;
  uint64_t last_events_ = 0;
};

}  // namespace sonde::record
