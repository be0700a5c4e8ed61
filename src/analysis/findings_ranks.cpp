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
    "what ranks waited in collectives for the one that came last, if it was one rank in most of "
    "them, and longer than the clocks are apart",
    "all of it",
    true};

constexpr double kMostOfThem = 0.6;

// Collectives of the host (gloo, MPI) take no GPU's time.
void extend_lane(Lanes& lanes, int32_t gpu, trace::Interval time) {
  if (gpu != trace::kNone && time.start_ns < time.end_ns) lanes[gpu].push_back(time);
}

}  // namespace

std::vector<const Rule*> rank_rules() { return {&kStragglerRule}; }

void add_rank_claims(std::span<const trace::Trace> traces, std::span<Claims> claims) {
  const Collectives all = find_collectives(traces);
  if (all.members.size() < 2) return;
  const Matched matched = match_collectives(all);
  std::vector<int64_t> times_last(all.members.size(), 0);
  std::vector<Lanes> waits(traces.size());
  int64_t waited_ns = 0, count = 0, instances = 0;
  for (const Instance& instance : matched.instances) {
    if (instance.parts.size() < 2) continue;
    ++instances;
    ++times_last[instance.last];
    const auto offset_of = [&](size_t part) { return matched.offset_ns[all.list[part].member]; };
    int64_t last_ns = std::numeric_limits<int64_t>::min();
    for (const size_t part : instance.parts) {
      last_ns = std::max(last_ns, all.list[part].start_ns - offset_of(part));
    }
    for (const size_t part : instance.parts) {
      const Collective& one = all.list[part];
      const int64_t until_ns = std::min(one.end_ns, last_ns + offset_of(part));
      waited_ns += std::max<int64_t>(0, until_ns - one.start_ns);
      const Member& member = all.members[one.member];
      extend_lane(waits[member.file], one.gpu, {one.start_ns, until_ns});
    }
    count += static_cast<int64_t>(instance.parts.size()) - 1;
  }
  if (instances == 0 || waited_ns <= count * matched.residual_ns) return;
  const auto most = std::max_element(times_last.begin(), times_last.end());
  if (static_cast<double>(*most) < kMostOfThem * static_cast<double>(instances)) return;
  const Member& late = all.members[static_cast<size_t>(most - times_last.begin())];
  const std::string text =
      fmt::format("rank {} came last in {} of {} collectives; the others waited {}, {} each time",
                  late.rank, *most, instances, time_text(waited_ns), time_text(waited_ns / count));
  for (size_t i = 0; i < traces.size(); ++i) {
    for (auto& [gpu, set] : waits[i]) trace::normalise(set);
    claims[i].push_back({&kStragglerRule, std::move(waits[i]), 1.0, text});
  }
}

}  // namespace sonde::analysis
