// Model FLOP utilisation (MFU) of steps. Used by steps.
#pragma once

#include <optional>
#include <span>

#include "analysis/steps/step_time.h"
#include "trace/steps.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct Utilisation {
  // The time that the matrix products, convolutions and attention that the steps launched would
  // take at the peak of their device and type, of the steps' time on all GPUs of their process:
  // that on the host, or where the host runs ahead that of the busiest GPU, if it is longer.
  double percentage = 0;
  double covers_percentage = 0;  // of the steps' kernel time: kernels of these operators
};

// `step_of` is that of step_of_ops(), `times` of the steps that count, marked by
// mark_slow_of_processes(). nullopt where the trace has no sizes of such operators, or the peak of
// a device is not known. Needs what modelled_work() needs.
std::optional<Utilisation> utilisation_of(const trace::Trace& trace, const trace::Steps& steps,
                                          std::span<const trace::Row> step_of,
                                          std::span<const StepTime> times);

}  // namespace sonde::analysis
