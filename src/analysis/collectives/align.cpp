#include <algorithm>
#include <cstdlib>

#include "analysis/collectives/collectives.h"
#include "analysis/quantile.h"

namespace sonde::analysis {
namespace {

bool alike(const Collective& a, const Collective& b) { return a.bytes == b.bytes && a.op == b.op; }

// Rows [first, first + length) of a, and of b `shift` further on.
struct Run {
  int64_t shift = 0;
  size_t first = 0, length = 0;
  int64_t offset_ns = 0;  // median of end in b - end in a
  int64_t spread_ns = 0;  // median distance from it
};

class Alignment {
 public:
  Alignment(const Collectives& all, std::span<const size_t> a, std::span<const size_t> b)
      : all_(all), a_(a), b_(b) {}

  std::vector<std::pair<size_t, size_t>> pairs() const {
    const Run run = best_run();
    std::vector<std::pair<size_t, size_t>> pairs;
    if (run.length == 0) return pairs;
    if (run.length == a_.size() && run.length == b_.size()) {
      for (size_t i = 0; i < a_.size(); ++i) pairs.emplace_back(i, i);
      return pairs;
    }
    pairs = by_end(run);
    if (pairs.size() * 4 >= run.length * 3) return pairs;
    // Ends say nothing: CPU calls return at any time.
    pairs.clear();
    for (size_t i = run.first; i < run.first + run.length; ++i) {
      pairs.emplace_back(i, static_cast<size_t>(static_cast<int64_t>(i) + run.shift));
    }
    return pairs;
  }

 private:
  const Collective& in_a(size_t i) const { return all_.list[a_[i]]; }
  const Collective& in_b(size_t i) const { return all_.list[b_[i]]; }
  int64_t distance(size_t i, size_t j) const { return in_b(j).end_ns - in_a(i).end_ns; }

  Run run_of(int64_t shift) const {
    Run best, run;
    run.shift = best.shift = shift;
    const auto size_a = static_cast<int64_t>(a_.size()), size_b = static_cast<int64_t>(b_.size());
    for (int64_t i = std::max<int64_t>(0, -shift); i < size_a && i + shift < size_b; ++i) {
      if (!alike(in_a(static_cast<size_t>(i)), in_b(static_cast<size_t>(i + shift)))) {
        run.length = 0;
        continue;
      }
      if (run.length++ == 0) run.first = static_cast<size_t>(i);
      if (run.length > best.length) best = run;
    }
    return best;
  }

  void measure(Run& run) const {
    std::vector<int64_t> distances;
    for (size_t i = run.first; i < run.first + run.length; ++i) {
      distances.push_back(distance(i, static_cast<size_t>(static_cast<int64_t>(i) + run.shift)));
    }
    run.offset_ns = median(distances);
    for (int64_t& one : distances) one = std::abs(one - run.offset_ns);
    run.spread_ns = median(distances);
  }

  // If both sides have the same collectives, a shift by a few also has a long run, but its ends lie
  // apart because the times between collectives vary; in the right one they coincide. If
  // collectives come at a fixed interval, all shifts fit alike: then the longest run counts, and of
  // those the one for which clocks differ least.
  Run best_run() const {
    constexpr int64_t kMostPairs = 4'000'000, kPatience = 50 * kMostPairs;
    constexpr int64_t kJitter = 5'000;
    const auto size_a = static_cast<int64_t>(a_.size()), size_b = static_cast<int64_t>(b_.size());
    const int64_t pairs = std::max<int64_t>(1, std::min(size_a, size_b));
    const int64_t reach =
        std::min(std::max(std::abs(size_b - size_a) + 16, kMostPairs / pairs), kPatience / pairs);
    std::vector<Run> runs;
    size_t longest = 0;
    for (int64_t shift = std::max(-size_a + 1, -reach); shift <= std::min(size_b - 1, reach);
         ++shift) {
      runs.push_back(run_of(shift));
      longest = std::max(longest, runs.back().length);
    }
    // A few of a kind come in a row by chance; half a side does not.
    const size_t few = size_a == size_b ? 1 : 2;
    const size_t least = std::max({few, longest / 2, (std::min(a_.size(), b_.size()) + 1) / 2});
    std::erase_if(runs, [&](const Run& run) { return run.length < least; });
    int64_t least_spread = std::numeric_limits<int64_t>::max();
    for (Run& run : runs) {
      measure(run);
      // One pair always fits, and proves nothing.
      if (run.length > 1) least_spread = std::min(least_spread, run.spread_ns);
    }
    Run best;
    for (const Run& run : runs) {
      if (run.length > 1 && run.spread_ns > 3 * least_spread + kJitter) continue;
      const bool is_better =
          run.length > best.length ||
          (run.length == best.length && std::abs(run.offset_ns) < std::abs(best.offset_ns));
      if (is_better) best = run;
    }
    return best;
  }

  // What ends together, on both sides in order, following the clocks as they drift.
  std::vector<std::pair<size_t, size_t>> by_end(const Run& run) const {
    std::vector<int64_t> between;
    for (size_t i = 1; i < a_.size(); ++i) {
      between.push_back(std::abs(in_a(i).end_ns - in_a(i - 1).end_ns));
    }
    const int64_t reach_ns =
        between.empty() ? std::numeric_limits<int64_t>::max() : median(between) / 2;
    int64_t offset_ns = run.offset_ns;
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t i = 0, j = 0; i < a_.size() && j < b_.size();) {
      const int64_t away_ns = distance(i, j) - offset_ns;
      if (std::abs(away_ns) <= reach_ns && alike(in_a(i), in_b(j))) {
        pairs.emplace_back(i++, j++);
        offset_ns += away_ns / 8;
      } else {
        ++(away_ns > 0 ? i : j);
      }
    }
    return pairs;
  }

  const Collectives& all_;
  std::span<const size_t> a_, b_;
};

}  // namespace

std::vector<std::pair<size_t, size_t>> align_rows(const Collectives& all, std::span<const size_t> a,
                                                  std::span<const size_t> b) {
  return Alignment(all, a, b).pairs();
}

}  // namespace sonde::analysis
