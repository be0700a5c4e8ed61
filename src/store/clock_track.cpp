#include "store/clock_track.h"

#include <algorithm>
#include <limits>

namespace sonde::store {

namespace {

constexpr int64_t kMinimumGapNs = 10'000'000;
constexpr int64_t kCoveredNs = 1'000'000'000;
constexpr size_t kMaxKnots = 1 << 16;
// A knot that the line through its neighbours meets this closely says nothing new.
constexpr int64_t kStraightNs = 2;

using Wide = __int128;

// Values out of a damaged record can be anything: they end at the ends of 64 bits.
int64_t clamp(Wide value) {
  return static_cast<int64_t>(std::clamp<Wide>(value, std::numeric_limits<int64_t>::min(),
                                               std::numeric_limits<int64_t>::max()));
}

Wide distance(int64_t a, int64_t b) { return a < b ? Wide{b} - a : Wide{a} - b; }

int64_t line(int64_t x, int64_t x0, int64_t y0, int64_t x1, int64_t y1) {
  const Wide denominator = Wide{x1} - x0;
  Wide numerator = 0;
  if (__builtin_mul_overflow(Wide{x} - x0, Wide{y1} - y0, &numerator)) return y0;
  // Rounded to nearest, also for negative distances.
  const Wide half = (numerator < 0 ? -denominator : denominator) / 2;
  Wide sum = 0;
  if (__builtin_add_overflow(numerator, half, &sum)) return y0;
  return clamp(sum / denominator + y0);
}

}  // namespace

// Two close snapshots are better than one, which says nothing about the rate: until there are two
// at a distance, the outermost are kept. True if that took care of the new one.
bool ClockTrack::widen(const Knot& knot) {
  if (knots_.empty() || knots_.size() > 2) return false;
  Knot& first = knots_.front();
  Knot& last = knots_.back();
  if (distance(first.monotonic_ns, last.monotonic_ns) >= kMinimumGapNs) return false;
  const bool is_later = knot.monotonic_ns > last.monotonic_ns && knot.value > last.value;
  const bool is_earlier = knot.monotonic_ns < first.monotonic_ns && knot.value < first.value;
  const int64_t end = is_later ? last.monotonic_ns : first.monotonic_ns;
  if (!is_later && !is_earlier) return false;
  if (knots_.size() == 1) {
    if (distance(end, knot.monotonic_ns) >= kMinimumGapNs) return false;
    knots_.insert(is_later ? knots_.end() : knots_.begin(), knot);
  } else {
    (is_later ? last : first) = knot;
  }
  return true;
}

void ClockTrack::add(int64_t value, int64_t monotonic_ns, int64_t uncertainty_ns) {
  if (widen({value, monotonic_ns, uncertainty_ns})) return;
  const auto after =
      std::upper_bound(knots_.begin(), knots_.end(), monotonic_ns,
                       [](int64_t time, const Knot& knot) { return time < knot.monotonic_ns; });
  const auto index = static_cast<size_t>(after - knots_.begin());
  for (const size_t near : {index - 1, index}) {
    if (near >= knots_.size()) continue;
    Knot& knot = knots_[near];
    if (distance(knot.monotonic_ns, monotonic_ns) >= kMinimumGapNs) continue;
    const bool ordered = (near == 0 || knots_[near - 1].value < value) &&
                         (near + 1 == knots_.size() || value < knots_[near + 1].value);
    if (ordered && uncertainty_ns < knot.uncertainty_ns)
      knot = {value, monotonic_ns, uncertainty_ns};
    return;
  }
  // The new one must keep the order on both clocks: none runs backwards.
  if (index > 0 && value <= knots_[index - 1].value) return;
  if (index < knots_.size() && value >= knots_[index].value) return;
  knots_.insert(after, {value, monotonic_ns, uncertainty_ns});
  const size_t last = knots_.size() - 1;
  if (index != last || last < 3) return;
  // Straight stretches need only their ends, so an hour of snapshots stays small.
  const Knot& a = knots_[last - 2];
  const Knot& b = knots_[last - 1];
  const Knot& c = knots_[last];
  const bool short_stretch = distance(c.monotonic_ns, a.monotonic_ns) < 250'000'000;
  if (short_stretch && distance(line(b.value, a.value, a.monotonic_ns, c.value, c.monotonic_ns),
                                b.monotonic_ns) <= kStraightNs) {
    knots_.erase(knots_.end() - 2);
  }
  if (knots_.size() > kMaxKnots) knots_.erase(knots_.begin(), knots_.begin() + kMaxKnots / 4);
}

bool ClockTrack::covers(int64_t monotonic_ns) const {
  const auto after =
      std::upper_bound(knots_.begin(), knots_.end(), monotonic_ns,
                       [](int64_t time, const Knot& knot) { return time < knot.monotonic_ns; });
  const auto near = [&](const Knot& knot) {
    return distance(knot.monotonic_ns, monotonic_ns) <= kCoveredNs;
  };
  return knots_.size() >= 2 && ((after != knots_.end() && near(*after)) ||
                                (after != knots_.begin() && near(*(after - 1))));
}

std::vector<ClockTrack::Knot> ClockTrack::newest(size_t count) const {
  const size_t skip = knots_.size() > count ? knots_.size() - count : 0;
  return {knots_.begin() + static_cast<std::ptrdiff_t>(skip), knots_.end()};
}

void ClockTrack::restore(const std::vector<Knot>& knots) {
  for (const Knot& knot : knots) {
    while (&knot == &knots.front() && !knots_.empty() &&
           (knots_.back().value >= knot.value || knots_.back().monotonic_ns >= knot.monotonic_ns)) {
      knots_.pop_back();
    }
    const bool follows = knots_.empty() || (knots_.back().value < knot.value &&
                                            knots_.back().monotonic_ns <= knot.monotonic_ns);
    if (follows) knots_.push_back(knot);
  }
}

int64_t ClockTrack::to_monotonic_ns(int64_t value) const {
  if (knots_.empty()) return value;
  if (knots_.size() == 1) return clamp(Wide{knots_[0].monotonic_ns} + value - knots_[0].value);
  auto after = std::upper_bound(knots_.begin() + 1, knots_.end() - 1, value,
                                [](int64_t v, const Knot& knot) { return v < knot.value; });
  const Knot& b = *after;
  const Knot& a = *(after - 1);
  return line(value, a.value, a.monotonic_ns, b.value, b.monotonic_ns);
}

}  // namespace sonde::store
