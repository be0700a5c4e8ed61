#include "analysis/steps/step_time.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/quantile.h"
#include "analysis/step_pace.h"

namespace sonde::analysis {

std::vector<int64_t> lengths_of(std::span<const StepTime> times) {
  std::vector<int64_t> lengths;
  for (const StepTime& time : times) lengths.push_back(time.time_ns);
  return lengths;
}

int64_t median_of(std::vector<int64_t> values) { return median(values); }

namespace {

constexpr double kSlowShare = 1.1;     // of the median, and
constexpr double kSlowDeviations = 3;  // robust standard deviations above it
constexpr double kToSigma = 1.4826;    // of the median absolute deviation of a normal distribution

void mark_slow(std::span<StepTime* const> times) {
  std::vector<int64_t> lengths, gpu, deviations;
  for (const StepTime* time : times) {
    lengths.push_back(time->time_ns);
    gpu.push_back(time->gpu_ns);
  }
  const int64_t middle = median_of(lengths);
  for (const int64_t length : lengths) deviations.push_back(std::abs(length - middle));
  const double sigma = kToSigma * static_cast<double>(median_of(deviations));
  const double least = std::max(static_cast<double>(middle) * kSlowShare,
                                static_cast<double>(middle) + kSlowDeviations * sigma);
  const bool is_ahead = step_pace(lengths, std::move(gpu)).host_runs_ahead;
  for (StepTime* time : times) {
    time->usual_ns = middle;
    time->is_slow =
        !is_ahead && times.size() >= kFewSteps && static_cast<double>(time->time_ns) > least;
    time->is_ahead = is_ahead;
  }
}

}  // namespace

void mark_slow_of_processes(std::vector<StepTime>& times) {
  std::map<int32_t, std::vector<StepTime*>> processes;
  for (StepTime& time : times) processes[time.step->process].push_back(&time);
  for (const auto& [process, steps] : processes) mark_slow(steps);
}

int64_t pace_of(std::span<const StepTime> times) {
  int64_t host_ns = 0, gpu_ns = 0;
  bool is_ahead = false;
  for (const StepTime& time : times) {
    host_ns += time.time_ns;
    gpu_ns += time.gpu_ns;
    is_ahead |= time.is_ahead;
  }
  if (!is_ahead) return median_of(lengths_of(times));
  return std::max(host_ns, gpu_ns) / static_cast<int64_t>(times.size());
}

}  // namespace sonde::analysis
