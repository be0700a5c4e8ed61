#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "analysis/collectives/collectives.h"
#include "analysis/quantile.h"

namespace sonde::analysis {
namespace {

// If no rank can leave before all have arrived, ends coincide. The ends of a root lie at any
// distance from those of the others, the same each time, and would be mistaken for a clock
// difference; so would those of an all-to-all, which a rank leaves when its own parts, which may be
// smaller, are there.
bool tells_of_clocks(const Collectives& all, const Instance& instance) {
  const Collective& first = all.list[instance.parts.front()];
  return instance.parts.size() > 1 && leaves_together(first) && first.op != "alltoall";
}

struct Edge {
  size_t a = 0, b = 0;
  std::vector<int64_t> distances;  // end of b - end of a
};

class Clocks {
 public:
  Clocks(const Collectives& all, Matched& matched)
      : all_(all), matched_(matched), offset_(all.members.size(), 0) {}

  void solve() {
    group_members();
    for (ClockGroup& group : matched_.clocks) {
      spread_over(group);
      settle(group);
      const int64_t first_ns = offset_[group.members.front()];
      for (const size_t member : group.members) offset_[member] -= first_ns;
    }
    matched_.offset_ns = offset_;
  }

 private:
  bool tells(const Instance& instance, const ClockGroup& group) const {
    const size_t member = all_.list[instance.parts.front()].member;
    return tells_of_clocks(all_, instance) &&
           matched_.clock_of[member] == matched_.clock_of[group.members.front()];
  }

  void group_members() {
    std::vector<size_t> root(all_.members.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](size_t member) {
      while (root[member] != member) member = root[member] = root[root[member]];
      return member;
    };
    for (const Instance& instance : matched_.instances) {
      if (!tells_of_clocks(all_, instance)) continue;
      for (const size_t part : instance.parts) {
        const size_t first = find(all_.list[instance.parts.front()].member);
        const size_t other = find(all_.list[part].member);
        root[std::max(first, other)] = std::min(first, other);
      }
    }
    std::map<size_t, size_t> number;
    matched_.clock_of.resize(root.size());
    for (size_t member = 0; member < root.size(); ++member) {
      const auto [entry, is_new] = number.try_emplace(find(member), matched_.clocks.size());
      if (is_new) matched_.clocks.emplace_back();
      matched_.clock_of[member] = entry->second;
      matched_.clocks[entry->second].members.push_back(member);
    }
  }

  // From the first member on to those that share collectives with it, and so on: along the pairs
  // that share most.
  void spread_over(const ClockGroup& group) {
    std::map<std::pair<size_t, size_t>, Edge> edges;
    for (const Instance& instance : matched_.instances) {
      if (!tells(instance, group)) continue;
      const Collective& first = all_.list[instance.parts.front()];
      for (const size_t part : instance.parts) {
        const Collective& one = all_.list[part];
        if (one.member == first.member) continue;
        Edge& edge = edges[{first.member, one.member}];
        edge.a = first.member;
        edge.b = one.member;
        edge.distances.push_back(one.end_ns - first.end_ns);
      }
    }
    std::vector<Edge*> order;
    for (auto& [members, edge] : edges) order.push_back(&edge);
    std::stable_sort(order.begin(), order.end(), [](const Edge* a, const Edge* b) {
      return a->distances.size() > b->distances.size();
    });
    std::vector<bool> known(all_.members.size(), false);
    known[group.members.front()] = true;
    for (bool found = true; found;) {
      found = false;
      for (Edge* edge : order) {
        if (known[edge->a] == known[edge->b]) continue;
        const int64_t distance_ns = median(edge->distances);
        if (known[edge->a]) {
          offset_[edge->b] = offset_[edge->a] + distance_ns;
        } else {
          offset_[edge->a] = offset_[edge->b] - distance_ns;
        }
        known[edge->a] = known[edge->b] = found = true;
        break;
      }
    }
  }

  // Moves each clock to where its ends fit those of the others, for all clocks together.
  void settle(const ClockGroup& group) {
    if (group.members.size() < 3) return;
    constexpr int kRounds = 8;
    for (int round = 0; round < kRounds; ++round) {
      std::map<size_t, std::vector<int64_t>> away;
      for (const Instance& instance : matched_.instances) {
        if (!tells(instance, group)) continue;
        std::vector<int64_t> ends;
        for (const size_t part : instance.parts) ends.push_back(end_of(part));
        const int64_t middle = median(ends);
        for (const size_t part : instance.parts) {
          away[all_.list[part].member].push_back(end_of(part) - middle);
        }
      }
      bool is_settled = true;
      for (auto& [member, distances] : away) {
        const int64_t by_ns = median(distances);
        is_settled &= by_ns == 0;
        offset_[member] += by_ns;
      }
      if (is_settled) return;
    }
  }

  int64_t end_of(size_t part) const {
    const Collective& one = all_.list[part];
    return one.end_ns - offset_[one.member];
  }

  const Collectives& all_;
  Matched& matched_;
  std::vector<int64_t> offset_;  // by member
};

bool is_on_one_clock(const Collectives& all, const Matched& matched, const Instance& instance) {
  const size_t clock = matched.clock_of[all.list[instance.parts.front()].member];
  return instance.parts.size() > 1 &&
         std::all_of(instance.parts.begin(), instance.parts.end(),
                     [&](size_t part) { return matched.clock_of[all.list[part].member] == clock; });
}

void measure_times(const Collectives& all, const Matched& matched, Instance& instance) {
  int64_t first_start = std::numeric_limits<int64_t>::max();
  int64_t last_start = std::numeric_limits<int64_t>::min();
  int64_t last_end = last_start, longest_ns = 0;
  instance.latency_ns = first_start;
  for (const size_t part : instance.parts) {
    const Collective& one = all.list[part];
    const int64_t offset_ns = matched.offset_ns[one.member];
    first_start = std::min(first_start, one.start_ns - offset_ns);
    last_start = std::max(last_start, one.start_ns - offset_ns);
    last_end = std::max(last_end, one.end_ns - offset_ns);
    instance.latency_ns = std::min(instance.latency_ns, one.duration_ns());
    longest_ns = std::max(longest_ns, one.duration_ns());
  }
  instance.is_compared = is_on_one_clock(all, matched, instance);
  instance.skew_ns = instance.is_compared ? last_start - first_start : 0;
  instance.span_ns = instance.is_compared ? last_end - first_start : longest_ns;
}

int64_t spread_of_ends(const Collectives& all, const Matched& matched, const Instance& instance) {
  int64_t first_ns = std::numeric_limits<int64_t>::max();
  int64_t last_ns = std::numeric_limits<int64_t>::min();
  for (const size_t part : instance.parts) {
    const int64_t end_ns = all.list[part].end_ns - matched.offset_ns[all.list[part].member];
    first_ns = std::min(first_ns, end_ns);
    last_ns = std::max(last_ns, end_ns);
  }
  return last_ns - first_ns;
}

// How far ends lie apart says how well begins can be compared.
void measure_clocks(const Collectives& all, Matched& matched) {
  std::vector<std::vector<int64_t>> distances(matched.clocks.size());
  for (const Instance& instance : matched.instances) {
    if (!tells_of_clocks(all, instance)) continue;
    const size_t member = all.list[instance.parts.front()].member;
    distances[matched.clock_of[member]].push_back(spread_of_ends(all, matched, instance));
  }
  for (size_t i = 0; i < distances.size(); ++i) {
    ClockGroup& group = matched.clocks[i];
    group.instances = static_cast<int64_t>(distances[i].size());
    group.residual_ns = median(distances[i]);
    group.uncertainty_ns = quantile(distances[i], 90);
  }
}

// Ends that differ by the same each time cannot be told from a clock that is ahead, and a clock
// that few collectives set fits them by force; both stay within a part of the transfer. Where the
// ends of this one lie further apart than others', a clock has been set meanwhile.
int64_t uncertainty_of(const Collectives& all, const Matched& matched, const Instance& instance) {
  const size_t member = all.list[instance.parts.front()].member;
  const ClockGroup& group = matched.clocks[matched.clock_of[member]];
  constexpr int64_t kLeast = 1'000, kMost = 20'000, kFew = 4;
  const bool is_few = group.instances < kFew;
  const int64_t of_transfer = std::clamp(instance.latency_ns / (is_few ? 4 : 10), kLeast,
                                         is_few ? std::numeric_limits<int64_t>::max() : kMost);
  const int64_t own_ns =
      tells_of_clocks(all, instance) ? spread_of_ends(all, matched, instance) : 0;
  return std::max({group.uncertainty_ns, of_transfer, own_ns});
}

void find_last(const Collectives& all, const Matched& matched, Instance& instance) {
  instance.waited_ns.assign(instance.parts.size(), 0);
  if (!instance.is_compared) return;
  const bool together = leaves_together(all.list[instance.parts.front()]);
  std::vector<std::pair<int64_t, size_t>> order;  // begins, and members
  for (const size_t part : instance.parts) {
    const Collective& one = all.list[part];
    order.emplace_back(one.start_ns - matched.offset_ns[one.member], one.member);
  }
  std::sort(order.begin(), order.end());
  const auto [last_ns, last_member] = order.back();
  bool all_are_there = true;  // when the last one comes
  for (size_t i = 0; i < instance.parts.size(); ++i) {
    const Collective& one = all.list[instance.parts[i]];
    const int64_t offset_ns = matched.offset_ns[one.member];
    // A rank that may leave before others arrive waits at most for those that had arrived by then.
    const std::pair left(one.end_ns - offset_ns, kNobody);
    const auto after = together ? order.end() : std::upper_bound(order.begin(), order.end(), left);
    const int64_t come_ns = after == order.begin() ? last_ns : std::prev(after)->first;
    const int64_t waited_ns = come_ns - (one.start_ns - offset_ns);
    if (waited_ns > instance.uncertainty_ns) instance.waited_ns[i] = waited_ns;
    all_are_there &= together || left.first > last_ns + instance.uncertainty_ns;
  }
  const int64_t before_ns = order[order.size() - 2].first;
  if (last_ns - before_ns <= instance.uncertainty_ns || !all_are_there) return;
  instance.last = last_member;
  instance.late_ns = last_ns - before_ns;
}

}  // namespace

void put_on_one_clock(const Collectives& all, Matched& matched) {
  Clocks(all, matched).solve();
  measure_clocks(all, matched);
  for (Instance& instance : matched.instances) {
    measure_times(all, matched, instance);
    instance.uncertainty_ns = uncertainty_of(all, matched, instance);
    find_last(all, matched, instance);
  }
}

std::vector<int64_t> clock_offsets(const trace::Trace& trace) {
  std::vector<int64_t> offsets(trace.processes.size(), 0);
  const Collectives all = find_collectives(std::span(&trace, 1));
  if (all.members.size() < 2) return offsets;
  const Matched matched = match_collectives(all);
  std::set<int32_t> known;
  for (const Collective& one : all.list) {
    const int32_t process = one.process;
    const ClockGroup& clock = matched.clocks[matched.clock_of[one.member]];
    const int64_t offset_ns = matched.offset_ns[one.member];
    // A process has one clock, that of the first of its GPUs.
    if (process == trace::kNone || !known.insert(process).second) continue;
    // Clocks that agree as well as can be known are left as they are.
    if (std::abs(offset_ns) <= clock.uncertainty_ns) continue;
    offsets[static_cast<size_t>(process)] = offset_ns;
  }
  return offsets;
}

}  // namespace sonde::analysis
