// Scale of a chart's axis: which values the ticks stand at, what they are called, and where a value
// lies. Used by chart.cpp.
#pragma once

#include <string>
#include <vector>

#include "report/chart.h"

namespace sonde::report {

struct Tick {
  double value;
  std::string text;
};

// Covers [low, high] with whole ticks, at most about `most` of them: multiples of 1, 2 or 5 times a
// power of ten (of two for bytes), or decades. An axis of one value gets some room on both sides.
class AxisScale {
 public:
  AxisScale(const Axis& axis, double low, double high, int most);

  const std::vector<Tick>& ticks() const { return ticks_; }
  // "Time (ms)"
  const std::string& title() const { return title_; }
  // 0 at the first tick, 1 at the last.
  double share(double value) const;

 private:
  void make_linear_ticks(const Axis& axis, double low, double high, int most);
  void make_decades(double low, double high, int most);

  std::vector<Tick> ticks_;
  std::string title_;
  bool logarithmic_ = false;
};

}  // namespace sonde::report
