// ClockTrack converts one clock's values to CLOCK_MONOTONIC ns by the snapshots that were taken of
// both: piecewise linear between them, with the slope of the nearest piece beyond. Integer
// arithmetic of 128 bits, so no nanosecond is lost to a double.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde::store {

class ClockTrack {
 public:
  // `value` of the clock was seen at `monotonic_ns`, give or take `uncertainty_ns`. Snapshots may
  // come in any order; one that lies closer than `kMinimumGap` to a better one is left out.
  void add(int64_t value, int64_t monotonic_ns, int64_t uncertainty_ns);

  // With no snapshot the value itself is returned; with one, the clock is taken to run in ns.
  int64_t to_monotonic_ns(int64_t value) const;

  struct Knot {
    int64_t value;
    int64_t monotonic_ns;
    int64_t uncertainty_ns;
  };
  // The newest `count` snapshots in use, and the way back: they go after older ones here.
  std::vector<Knot> newest(size_t count) const;
  void restore(const std::vector<Knot>& knots);

  // Whether a rate is known, and a snapshot of within a second of this moment.
  bool covers(int64_t monotonic_ns) const;
  bool known() const { return !knots_.empty(); }
  size_t size() const { return knots_.size(); }

 private:
  bool widen(const Knot& knot);
  std::vector<Knot> knots_;  // ascending in both
};

}  // namespace sonde::store
