// What a late rank did before the collectives to which it came last, and the others did not.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/findings/rules.h"

namespace sonde::analysis {
namespace {

// By file and GPU.
using Times = std::map<std::pair<size_t, int64_t>, trace::IntervalSet>;

// From the end of a member's collective to the start of the group's next one, to which `late` alone
// came last. By member.
std::map<size_t, Times> times_before(const Collectives& all, const Matched& matched, size_t late,
                                     std::span<const trace::Trace> traces) {
  std::set<size_t> wanted;  // of Collectives::list
  for (const Instance& instance : matched.instances) {
    if (instance.last == late) wanted.insert(instance.parts.begin(), instance.parts.end());
  }
  std::map<std::pair<size_t, std::string>, int64_t> left_ns;
  std::map<size_t, Times> times;
  WaitingGpus gpus(traces);
  for (size_t i = 0; i < all.list.size(); ++i) {  // by member and start
    const Collective& one = all.list[i];
    const auto [left, is_first] = left_ns.try_emplace({one.member, one.group}, one.end_ns);
    if (wanted.contains(i) && !is_first && left->second < one.start_ns) {
      for (const int64_t gpu : gpus.of(one)) {
        times[one.member][{one.file, gpu}].push_back({left->second, one.start_ns});
      }
    }
    left->second = std::max(left->second, one.end_ns);
  }
  for (auto& [member, of_member] : times) {
    for (auto& [lane, set] : of_member) trace::normalise(set);
  }
  return times;
}

// How much longer the late member does something, than the others do on average.
template <typename When>
int64_t longer_ns(const std::map<size_t, Times>& times, size_t late, When when) {
  int64_t own_ns = 0, others_ns = 0;
  for (const auto& [member, of_member] : times) {
    for (const auto& [lane, set] : of_member) {
      const trace::IntervalSet* const done = when(lane.first, lane.second);
      if (done == nullptr) continue;
      (member == late ? own_ns : others_ns) += trace::length_ns(trace::intersect(set, *done));
    }
  }
  const auto others = static_cast<int64_t>(times.size()) - 1;
  return others < 1 ? 0 : own_ns - others_ns / others;
}

const Claim* claim_of(const Claims& claims, const Rule& rule) {
  const auto found = std::find_if(claims.begin(), claims.end(), [&](const Claim& claim) {
    return std::string_view(claim.rule->id) == rule.id;
  });
  return found == claims.end() ? nullptr : &*found;
}

bool is_alone(const Collectives& all, const Member& member) {
  return std::count_if(all.members.begin(), all.members.end(),
                       [&](const Member& one) { return one.file == member.file; }) == 1;
}

}  // namespace

std::string late_deed_text(const Collectives& all, const Matched& matched, const Lateness& late,
                           std::span<const trace::Trace> traces, std::span<const Claims> claims) {
  const std::map<size_t, Times> times = times_before(all, matched, late.member, traces);
  const Rule* why = nullptr;
  int64_t most_ns = 0;
  for (const Rule* rule : host_rules()) {
    const int64_t more_ns = longer_ns(times, late.member, [&](size_t file, int64_t gpu) {
      const Claim* const claim = claim_of(claims[file], *rule);
      const auto lane = claim == nullptr ? Lanes::const_iterator() : claim->at_stake.find(gpu);
      return claim == nullptr || lane == claim->at_stake.end() ? nullptr : &lane->second;
    });
    // Others may have the time of a specific one, too.
    if (2 * more_ns < late.late_ns || (why != nullptr && why->is_specific && !rule->is_specific)) {
      continue;
    }
    if (why != nullptr && why->is_specific == rule->is_specific && more_ns <= most_ns) continue;
    why = rule;
    most_ns = more_ns;
  }
  if (why != nullptr) {
    const Member& member = all.members[late.member];
    const Claim* const claim = claim_of(claims[member.file], *why);
    return fmt::format("; before these, {} takes {} longer on it than on others{}", why->id,
                       time_text(most_ns),
                       claim != nullptr && is_alone(all, member) ? ": " + claim->evidence : "");
  }
  std::map<size_t, std::map<int64_t, GpuTime>> gpus;
  for (const auto& [member, of_member] : times) {
    for (const auto& [lane, set] : of_member) {
      if (!gpus.contains(lane.first)) gpus[lane.first] = gpu_times(traces[lane.first]);
    }
  }
  const int64_t more_ns = longer_ns(times, late.member, [&](size_t file, int64_t gpu) {
    const auto found = gpus[file].find(gpu);
    return found == gpus[file].end()
               ? nullptr
               : &found->second.sets[static_cast<size_t>(trace::Category::kCompute)];
  });
  if (2 * more_ns < late.late_ns) return "";
  return fmt::format("; before these, its kernels run {} longer than those of others",
                     time_text(more_ns));
}

}  // namespace sonde::analysis
