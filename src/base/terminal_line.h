// A line on the standard error that shows how far something has come; on a terminal only.
#pragma once

#include <cstdint>
#include <string>

namespace sonde {

class TerminalLine {
 public:
  // `last_ns` is when the first wait of `redraw_ns` began, 0 for none.
  TerminalLine(bool wanted, int64_t redraw_ns, int64_t last_ns);
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;
  ~TerminalLine() { clear(); }
  // Whether draw() is to follow now.
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
