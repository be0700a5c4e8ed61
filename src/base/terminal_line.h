// A progress line on standard error; on a terminal only.
#pragma once

#include <cstdint>
#include <string>

namespace sonde {

class TerminalLine {
 public:
  // The first line is drawn `redraw_ns` after `last_ns`; 0: at once.
  TerminalLine(bool wanted, int64_t redraw_ns, int64_t last_ns);
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;
  ~TerminalLine() { clear(); }
  // Whether it is time to draw() again.
  bool is_due();
  void draw(const std::string& text);
  void clear();

 private:
  const bool active_;
  const int64_t redraw_ns_;
  int64_t last_ns_;
  bool drawn_ = false;
};

}  // namespace sonde
