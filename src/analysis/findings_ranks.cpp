#include <fmt/format.h>

#include <algorithm>

#include "analysis/collectives.h"
#include "analysis/findings_rules.h"

namespace sonde::analysis {
namespace {

constexpr Rule kStragglerRule = {
    "straggler",
    "Ranks wait in collectives for one that comes late",
    "Look at what the late rank does before: its share of the data, its host, its clocks. sonde "
    "ranks compares them, sonde collectives shows who waited for whom.",
    "what ranks waited in collectives for a rank that alone came last, by more than the clocks are "
    "uncertain, in 60 % of those of one of its groups, and that does not itself wait for others as "
    "long",
    "all of it",
    true};

// Collectives of the host (gloo, MPI) take no GPU's time.
void extend_lane(Lanes& lanes, int64_t gpu, trace::Interval time) {
  if (gpu != trace::kNone && time.start_ns < time.end_ns) lanes[gpu].push_back(time);
}

}  // namespace

std::vector<const Rule*> rank_rules() { return {&kStragglerRule}; }

void add_rank_claims(std::span<const trace::Trace> traces, std::span<Claims> claims) {
  const Collectives all = find_collectives(traces);
  if (all.members.size() < 2) return;
  const Matched matched = match_collectives(all);
  const auto late = stragglers(all, matched);
  if (late.empty()) return;
  const Lateness& first = late.front();
  std::vector<Lanes> waits(traces.size());
  for (const Instance& instance : matched.instances) {
    if (instance.last != first.member) continue;
    for (size_t i = 0; i < instance.parts.size(); ++i) {
      const Collective& one = all.list[instance.parts[i]];
      const int64_t waited_ns = std::min(one.duration_ns(), instance.waited_ns[i]);
      extend_lane(waits[all.members[one.member].file], one.gpu,
                  {one.start_ns, one.start_ns + waited_ns});
    }
  }
  const std::string text = fmt::format(
      "rank {} came last in {} of {} collectives of its group, {} late each time; the "
      "others waited {}",
      all.members[first.member].rank, first.last_in_group, first.in_group,
      time_text(first.late_ns / std::max<int64_t>(1, first.last)), time_text(first.caused_ns));
  for (size_t i = 0; i < traces.size(); ++i) {
    for (auto& [gpu, set] : waits[i]) trace::normalise(set);
    claims[i].push_back({&kStragglerRule, std::move(waits[i]), 1.0, text});
  }
}

}  // namespace sonde::analysis
