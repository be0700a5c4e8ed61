#include "analysis/time/gpu_time.h"

#include <algorithm>
#include <bit>

namespace sonde::analysis {

using trace::Interval;

namespace {

// The GPUs, each with the extent of its first operation and room for its sets: growing step by step
// touches three times the memory.
std::map<int64_t, GpuTime> empty_gpus(const trace::Ops& ops) {
  std::map<int64_t, GpuTime> gpus;
  std::map<int64_t, std::array<size_t, trace::kCategories>> counts;
  auto count = counts.end();
  for (size_t i = 0; i < ops.size(); ++i) {
    if (i == 0 || ops.gpu[i] != ops.gpu[i - 1]) {
      const auto [entry, is_new] = counts.try_emplace(ops.gpu[i]);
      if (is_new) gpus[ops.gpu[i]].extent = {ops.start_ns[i], ops.end_ns[i]};
      count = entry;
    }
    ++count->second[static_cast<size_t>(ops.category[i])];
  }
  for (const auto& [gpu, by_category] : counts) {
    for (size_t k = 0; k < by_category.size(); ++k) gpus[gpu].sets[k].reserve(by_category[k]);
  }
  return gpus;
}

}  // namespace

std::map<int64_t, GpuTime> gpu_times(const trace::Trace& trace) {
  const trace::Ops& ops = trace.ops;
  std::map<int64_t, GpuTime> gpus = empty_gpus(ops);
  GpuTime* gpu = nullptr;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (gpu == nullptr || ops.gpu[i] != ops.gpu[i - 1]) gpu = &gpus.at(ops.gpu[i]);
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

CoveredTime::CoveredTime(trace::IntervalSet set) : set_(std::move(set)) {
  int64_t sum_ns = 0;
  for (const Interval& one : set_) {
    before_ns_.push_back(sum_ns);
    sum_ns += one.end_ns - one.start_ns;
  }
}

int64_t CoveredTime::until(int64_t time_ns) const {
  const auto after = std::partition_point(
      set_.begin(), set_.end(), [&](const Interval& one) { return one.start_ns < time_ns; });
  if (after == set_.begin()) return 0;
  const auto last = static_cast<size_t>(after - set_.begin()) - 1;
  return before_ns_[last] + std::min(time_ns, set_[last].end_ns) - set_[last].start_ns;
}

trace::IntervalSet busy_set(const GpuTime& gpu) {
  trace::IntervalSet busy;
  for (const trace::IntervalSet& set : gpu.sets) busy = trace::unite(busy, set);
  return busy;
}

int64_t busy_ns(const GpuTime& gpu) { return trace::length_ns(busy_set(gpu)); }

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
