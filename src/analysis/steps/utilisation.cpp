#include "analysis/steps/utilisation.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "analysis/perf/gpu_peaks.h"
#include "analysis/perf/work.h"

namespace sonde::analysis {
namespace {

using trace::kNone;
using trace::Row;

// FLOP in a nanosecond, by GPU.
class Rates {
 public:
  Rates(const trace::Trace& trace, std::vector<GpuPeak> peaks)
      : trace_(trace), peaks_(std::move(peaks)) {}

  std::optional<double> of(const ModelledCall& call) {
    const auto [peak, is_new] = by_gpu_.try_emplace(call.gpu, nullptr);
    if (is_new) peak->second = peak_of(peaks_, trace_, call.gpu);
    if (peak->second == nullptr) return std::nullopt;
    const auto tflop_per_s = peak->second->compute(call.work.type->precision, true);
    return tflop_per_s ? std::optional(*tflop_per_s * 1e3) : std::nullopt;
  }

 private:
  const trace::Trace& trace_;
  std::vector<GpuPeak> peaks_;
  std::map<int64_t, const GpuPeak*> by_gpu_;
};

// By process, how long its steps took.
std::map<int32_t, int64_t> time_of_processes(std::span<const StepTime> times) {
  std::map<int32_t, int64_t> host_ns, gpu_ns;
  for (const StepTime& time : times) {
    host_ns[time.step->process] += time.time_ns;
    if (time.is_ahead) gpu_ns[time.step->process] += time.gpu_ns;
  }
  for (auto& [process, time_ns] : host_ns) time_ns = std::max(time_ns, gpu_ns[process]);
  return host_ns;
}

}  // namespace

std::optional<Utilisation> utilisation_of(const trace::Trace& trace, const trace::Steps& steps,
                                          std::span<const Row> step_of,
                                          std::span<const StepTime> times) {
  auto peaks = gpu_peaks("");
  if (!peaks.ok()) return std::nullopt;
  Rates rates(trace, std::move(*peaks));
  const ModelledWork work = modelled_work(trace);
  std::vector<bool> is_counted(work.calls.size(), false), counts(steps.steps.size(), false);
  for (const StepTime& time : times) {
    counts[static_cast<size_t>(time.step - steps.steps.data())] = true;
  }
  std::map<int32_t, std::set<int64_t>> gpus;  // by process
  double needed_ns = 0, could_ns = 0;
  int64_t kernel_ns = 0, covered_ns = 0;
  for (size_t op = 0; op < trace.ops.size(); ++op) {
    const Row step = step_of[op];
    if (step == kNone || !counts[static_cast<size_t>(step)]) continue;
    gpus[steps.steps[static_cast<size_t>(step)].process].insert(trace.ops.gpu[op]);
    if (trace.class_of(op) == trace::OpClass::kKernel) kernel_ns += trace.op_ns(op);
    const Row number = work.call_of_op[op];
    if (number == kNone) continue;
    const ModelledCall& call = work.calls[static_cast<size_t>(number)];
    if (!call.model->uses_matrix_units()) continue;
    covered_ns += trace.op_ns(op);
    if (is_counted[static_cast<size_t>(number)]) continue;
    is_counted[static_cast<size_t>(number)] = true;
    const auto rate = rates.of(call);
    if (!rate) return std::nullopt;
    needed_ns += static_cast<double>(call.work.flops) / *rate;
  }
  for (const auto& [process, time_ns] : time_of_processes(times)) {
    could_ns += static_cast<double>(time_ns) * static_cast<double>(gpus[process].size());
  }
  if (needed_ns == 0 || could_ns == 0 || kernel_ns == 0) return std::nullopt;
  return Utilisation{100 * needed_ns / could_ns,
                     100 * static_cast<double>(covered_ns) / static_cast<double>(kernel_ns)};
}

}  // namespace sonde::analysis
