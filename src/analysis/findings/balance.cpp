#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/rules.h"

namespace sonde::analysis {
namespace {

using trace::Category;
using trace::IntervalSet;
using trace::kNone;

constexpr Rule kUnevenRule = {
    "uneven-gpus",
    "Work is spread unevenly over the GPUs of a process",
    "Split the work by what each GPU can do: samples of a batch, layers of a pipeline. sonde "
    "breakdown compares the GPUs.",
    "the time in which a GPU has nothing to do while the busiest GPU of its process computes, also "
    "before its first and after its last operation; only if the busiest computes for at least half "
    "of the time, this one for at least a tenth less, and at least half of that while the busiest "
    "computes",
    "by how much longer the busiest GPU computes",
    true};

constexpr int64_t kLeast = 10;  // one part in so many less

struct Load {
  int64_t gpu = 0;
  const GpuTime* time = nullptr;
  int64_t work_ns = 0;

  const IntervalSet& work() const { return time->sets[static_cast<size_t>(Category::kCompute)]; }
};

// The GPUs that one process alone uses, by process.
std::map<int32_t, std::vector<Load>> loads_by_process(const Evidence& evidence) {
  std::map<int32_t, std::vector<Load>> loads;
  const bool is_one = evidence.trace.processes.size() == 1;
  for (const auto& [gpu, time] : evidence.gpus) {
    const bool is_known = time.processes.size() == 1;
    if (!is_known && !(is_one && time.processes.empty())) continue;
    Load load{gpu, &time};
    load.work_ns = trace::length_ns(load.work());
    loads[is_known ? *time.processes.begin() : kNone].push_back(load);
  }
  return loads;
}

bool computes_most_of_the_time(const Load& busiest, const std::vector<Load>& loads) {
  trace::Interval span = busiest.time->extent;
  for (const Load& load : loads) {
    span.start_ns = std::min(span.start_ns, load.time->extent.start_ns);
    span.end_ns = std::max(span.end_ns, load.time->extent.end_ns);
  }
  return 2 * busiest.work_ns >= span.end_ns - span.start_ns;
}

// When this one has nothing to do although it shares work with the busiest; empty where it does
// not.
IntervalSet idle_beside(const Load& busiest, const Load& load) {
  const int64_t beside_ns = trace::length_ns(trace::intersect(load.work(), busiest.work()));
  if (kLeast * (busiest.work_ns - load.work_ns) < busiest.work_ns) return {};
  if (2 * beside_ns < load.work_ns) return {};
  IntervalSet idle = busiest.work();
  for (const IntervalSet& busy : load.time->sets) idle = trace::subtract(idle, busy);
  return idle;
}

}  // namespace

std::vector<const Rule*> balance_rules() { return {&kUnevenRule}; }

int64_t add_balance_claims(const Evidence& evidence, Claims& claims) {
  Lanes lanes;
  int64_t saving_ns = 0, outside_ns = 0, most_ns = 0;
  std::string text;
  for (const auto& [process, loads] : loads_by_process(evidence)) {
    const Load& busiest =
        *std::max_element(loads.begin(), loads.end(),
                          [](const Load& a, const Load& b) { return a.work_ns < b.work_ns; });
    if (!computes_most_of_the_time(busiest, loads)) continue;
    for (const Load& load : loads) {
      if (load.gpu == busiest.gpu) continue;
      IntervalSet idle = idle_beside(busiest, load);
      const int64_t idle_ns = trace::length_ns(idle);
      if (idle_ns == 0) continue;
      saving_ns += std::min(idle_ns, busiest.work_ns - load.work_ns);
      outside_ns += idle_ns - trace::length_ns(trace::clip(idle, load.time->extent));
      lanes[load.gpu] = std::move(idle);
      if (idle_ns <= most_ns) continue;
      most_ns = idle_ns;
      text = fmt::format(
          "GPU {} computes for {}, GPU {} for {}, and has nothing to do for {} meanwhile",
          busiest.gpu, time_text(busiest.work_ns), load.gpu, time_text(load.work_ns),
          time_text(idle_ns));
    }
  }
  if (lanes.empty()) return 0;
  if (lanes.size() > 1) text += fmt::format(" (and {} more GPUs)", lanes.size() - 1);
  const double saved = static_cast<double>(saving_ns) / static_cast<double>(length_ns(lanes));
  claims.push_back({&kUnevenRule, std::move(lanes), saved, std::move(text)});
  return outside_ns;
}

}  // namespace sonde::analysis
