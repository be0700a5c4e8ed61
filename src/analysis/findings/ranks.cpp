#include <fmt/format.h>

#include <algorithm>

#include "analysis/collectives/collectives.h"
#include "analysis/findings/rules.h"

namespace sonde::analysis {
namespace {

constexpr Rule kStragglerRule = {
    "straggler",
    "Ranks wait in collectives for one that comes late",
    "Look at what the late rank does before the collective: its share of the data, its host, its "
    "clocks. sonde ranks compares them, sonde collectives shows who waited for whom.",
    "the time that ranks waited in collectives for a rank that came last alone, by more than the "
    "uncertainty of the clocks, in 60 % of the collectives of one of its groups, and that does "
    "not itself wait as long for others, nor may have in collectives that are not matched or not "
    "compared",
    "all of it",
    true};

constexpr Rule kSlowRule = {
    "slow-collectives",
    "Some collectives take much longer than others of their size",
    "This is waiting or a slow link, which overlap does not fix: look for the late rank and for "
    "the link (topology, NCCL_DEBUG=INFO, network errors). With the traces of all ranks, sonde "
    "collectives shows which it is.",
    "collectives at less than half the usual rate of their group for this operation and size",
    "the time beyond the usual",
    true};

// Collectives of the host (gloo, MPI) take no GPU's time.
void extend_lane(Lanes& lanes, int64_t gpu, trace::Interval time) {
  if (gpu != trace::kNone && time.start_ns < time.end_ns) lanes[gpu].push_back(time);
}

void add_straggler(const Collectives& all, const Matched& matched, std::span<Claims> claims) {
  const auto late = stragglers(all, matched);
  if (late.empty()) return;
  const Lateness& first = late.front();
  std::vector<Lanes> waits(claims.size());
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
      "{} came last in {} of {} collectives of its group, {} late each time; the "
      "others waited {}",
      name_of(all.members[first.member]), first.last_in_group, first.in_group,
      time_text(first.late_ns / std::max<int64_t>(1, first.last)), time_text(first.caused_ns));
  for (size_t i = 0; i < claims.size(); ++i) {
    for (auto& [gpu, set] : waits[i]) trace::normalise(set);
    claims[i].push_back({&kStragglerRule, std::move(waits[i]), 1.0, text});
  }
}

void add_slow(const Collectives& all, const Matched& matched, std::span<Claims> claims) {
  const CommunicationTime time = communication_time(all, matched);
  const int64_t lost_ns = time.slow_ns + time.held_ns;
  if (lost_ns == 0) return;
  const Rates rates = bus_rates(all, matched);
  std::vector<Lanes> slow(claims.size());
  int64_t instances = 0;
  for (size_t i = 0; i < matched.instances.size(); ++i) {
    if (!rates.is_slow(i)) continue;
    ++instances;
    for (const size_t part : matched.instances[i].parts) {
      const Collective& one = all.list[part];
      extend_lane(slow[all.members[one.member].file], one.gpu, {one.start_ns, one.end_ns});
    }
  }
  int64_t cost_ns = 0;
  for (Lanes& lanes : slow) {
    for (auto& [gpu, set] : lanes) trace::normalise(set);
    cost_ns += length_ns(lanes);
  }
  if (cost_ns == 0) return;
  const double saved = std::min(1.0, static_cast<double>(lost_ns) / static_cast<double>(cost_ns));
  const std::string text = fmt::format(
      "{} of {} collectives reach less than half the usual rate of their group and size: {} of {} of "
      "communication are beyond the usual time",
      instances, matched.instances.size(), time_text(lost_ns), time_text(time.total_ns));
  for (size_t i = 0; i < claims.size(); ++i) {
    claims[i].push_back({&kSlowRule, std::move(slow[i]), saved, text});
  }
}

}  // namespace

std::vector<const Rule*> rank_rules() { return {&kStragglerRule, &kSlowRule}; }

void add_rank_claims(std::span<const trace::Trace> traces, std::span<Claims> claims) {
  const Collectives all = find_collectives(traces);
  const Matched matched = match_collectives(all);
  add_slow(all, matched, claims);
  if (all.members.size() > 1) add_straggler(all, matched, claims);
}

}  // namespace sonde::analysis
