// The live status line of a recording, on a terminal only.
#pragma once

#include <cstdint>

namespace sonde::record {

class StatusLine {
 public:
  explicit StatusLine(bool wanted);
  ~StatusLine();
  struct Figures {
    uint64_t events = 0, file_bytes = 0, spool_bytes = 0, lost = 0;
    int processes = 0;
  };
  // Redraws at most twice a second.
  void update(const Figures& figures);
  void clear();

 private:
  bool active_;
  bool drawn_ = false;
  int64_t started_ns_, last_ns_ = 0;
  uint64_t last_events_ = 0;
};

}  // namespace sonde::record
