#include "analysis/steps/period.h"

#include <span>

namespace sonde::analysis {
namespace {

// `slow`: the numbers of the slow ones among a process's steps, from 0.
size_t period_of(std::span<const size_t> slow, size_t steps) {
  if (slow.size() < 3) return 0;
  const size_t period = slow[1] - slow[0];
  for (size_t i = 1; i < slow.size(); ++i) {
    if (slow[i] - slow[i - 1] != period) return 0;
  }
  return slow.front() < period && steps - slow.back() <= period ? period : 0;
}

}  // namespace

size_t period_of_slow(const std::map<int32_t, std::vector<bool>>& is_slow) {
  size_t common = 0;
  for (const auto& [process, steps] : is_slow) {
    std::vector<size_t> slow;
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i]) slow.push_back(i);
    }
    size_t period = period_of(slow, steps.size());
    if (period == 0 && !slow.empty() && slow[0] == 0) {
      period = period_of(std::span(slow).subspan(1), steps.size());
    }
    if (period <= 1 || (common != 0 && period != common)) return 0;
    common = period;
  }
  return common;
}

}  // namespace sonde::analysis
