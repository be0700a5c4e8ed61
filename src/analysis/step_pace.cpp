#include "analysis/step_pace.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/quantile.h"
#include "analysis/time/gpu_time.h"

namespace sonde::analysis {
namespace {

constexpr double kAhead = 1.5;

int64_t mean(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0}) /
         static_cast<int64_t>(values.size());
}

}  // namespace

StepPace step_pace(std::vector<int64_t> host_ns, std::vector<int64_t> gpu_ns) {
  if (host_ns.empty()) return {};
  const int64_t mean_ns = gpu_ns.empty() ? 0 : std::max(mean(host_ns), mean(gpu_ns));
  const int64_t host = median(host_ns);
  const int64_t gpu = gpu_ns.empty() ? 0 : median(gpu_ns);
  const bool is_ahead = static_cast<double>(gpu) > kAhead * static_cast<double>(host);
  return {is_ahead ? mean_ns : host, is_ahead};
}

std::vector<int64_t> gpu_time_of_steps(const trace::Trace& trace,
                                       const std::vector<trace::Row>& step_of, size_t steps) {
  std::map<std::pair<trace::Row, int64_t>, UnionLength> busy;  // by step and GPU
  for (size_t op = 0; op < step_of.size(); ++op) {
    if (step_of[op] == trace::kNone) continue;
    busy[{step_of[op], trace.ops.gpu[op]}].add({trace.ops.start_ns[op], trace.ops.end_ns[op]});
  }
  std::vector<int64_t> longest(steps, 0);
  for (const auto& [key, length] : busy) {
    int64_t& of_step = longest[static_cast<size_t>(key.first)];
    of_step = std::max(of_step, length.length_ns);
  }
  return longest;
}

}  // namespace sonde::analysis
