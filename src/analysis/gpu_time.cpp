#include "analysis/gpu_time.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace sonde::analysis {

using trace::Interval;

std::map<int32_t, GpuTime> gpu_times(const trace::Trace& trace) {
  std::map<int32_t, GpuTime> gpus;
  const trace::Ops& ops = trace.ops;
  GpuTime* gpu = nullptr;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (gpu == nullptr || ops.gpu[i] != ops.gpu[i - 1]) {
      const auto [entry, is_new] = gpus.try_emplace(ops.gpu[i]);
      gpu = &entry->second;
      if (is_new) gpu->extent = {ops.start_ns[i], ops.end_ns[i]};
    }
    gpu->extent.end_ns = std::max(gpu->extent.end_ns, ops.end_ns[i]);
    extend(gpu->sets[static_cast<size_t>(ops.category[i])], {ops.start_ns[i], ops.end_ns[i]});
    if (!ops.process.empty() && ops.process[i] != trace::kNone) {
      gpu->processes.insert(ops.process[i]);
    }
  }
  for (auto& [id, time] : gpus) {
    if (trace.window) time.extent = *trace.window;
    if (time.processes.size() == 1) {
      time.rank = trace.processes[static_cast<size_t>(*time.processes.begin())].rank;
    }
  }
  return gpus;
}

report::Value rank_value(const GpuTime& gpu) {
  return gpu.rank ? report::Value(*gpu.rank) : report::Value();
}

Breakdown breakdown_of(const std::vector<trace::Segment>& segments, Interval window) {
  Breakdown result;
  result.total_ns = window.end_ns - window.start_ns;
  int64_t covered = 0;
  auto segment = std::partition_point(
      segments.begin(), segments.end(),
      [&](const trace::Segment& s) { return s.time.end_ns <= window.start_ns; });
  for (; segment != segments.end() && segment->time.start_ns < window.end_ns; ++segment) {
    const int64_t length = std::min(segment->time.end_ns, window.end_ns) -
                           std::max(segment->time.start_ns, window.start_ns);
    result.exposed_ns[static_cast<size_t>(std::countr_zero(segment->mask))] += length;
    covered += length;
  }
  result.idle_ns = result.total_ns - covered;
  return result;
}

}  // namespace sonde::analysis
