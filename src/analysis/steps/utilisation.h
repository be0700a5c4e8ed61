// Model FLOP utilisation (MFU) of steps. Used by steps.
#pragma once

#include <optional>
#include <span>

#include "trace/steps.h"
#include "trace/trace.h"

namespace sonde::analysis {

struct Utilisation {
  // The time that the matrix products, convolutions and attention that the steps launched would
  // take at the peak of their device and type, of the steps' time on all GPUs of their process.
  double percentage = 0;
  double covers_percentage = 0;  // of the steps' kernel time: kernels of these operators
};

// `step_of` is that of step_of_ops(), `step_ns` by step; 0 = not to be counted. nullopt where the
// trace has no sizes of such operators, or the peak of a device is not known. Needs what
// modelled_work() needs.
std::optional<Utilisation> utilisation_of(const trace::Trace& trace, const trace::Steps& steps,
                                          std::span<const trace::Row> step_of,
                                          std::span<const int64_t> step_ns);

}  // namespace sonde::analysis
