// The time of one step, and what many say together: which are slow, and how long a step takes.
// Private to sonde steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/steps/joined_names.h"
#include "trace/steps.h"
#include "trace/trace.h"

namespace sonde::analysis {

constexpr size_t kFewSteps = 5;  // too few to tell a trend or what is slow

struct StepTime {
  const trace::Step* step = nullptr;
  int64_t time_ns = 0, ops = 0, busy_ns = 0;
  int64_t gpu_ns = 0;                     // the busiest GPU's
  int64_t usual_ns = 0;                   // the median of its process's steps
  int64_t data_ns = 0, data_idle_ns = 0;  // loading data; and no GPU of the process works
  Shares host, waits, device;             // what its thread did, waited in, and launched
  bool is_slow = false;
  bool is_ahead = false;  // in its process the host runs ahead of the GPU

  bool has_thread() const { return step->thread != trace::kNone; }
};

int64_t median_of(std::vector<int64_t> values);
std::vector<int64_t> lengths_of(std::span<const StepTime> times);

// Sets usual_ns, is_slow and is_ahead, for each process by itself: processes that do other work
// have steps of other lengths.
void mark_slow_of_processes(std::vector<StepTime>& times);
// What a step takes: the median, and where the host runs ahead the mean of the host or of the GPU,
// whichever is longer.
int64_t pace_of(std::span<const StepTime> times);

}  // namespace sonde::analysis
