#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "analysis/collectives/collectives.h"
#include "base/strings.h"
#include "trace/intervals.h"

namespace sonde::analysis {
namespace {

// When members may have waited for others that the files do not show.
class HiddenWaits {
 public:
  HiddenWaits(const Collectives& all, const Matched& matched) : waits_(all.members.size()) {
    const std::vector<bool> hides = may_hide_waits(all, matched);
    for (size_t i = 0; i < all.list.size(); ++i) {
      const Collective& one = all.list[i];
      if (hides[i]) waits_[one.member].times.push_back({one.start_ns, one.end_ns});
    }
    for (Waits& one : waits_) {
      trace::normalise(one.times);
      int64_t sum_ns = 0;
      for (const trace::Interval& time : one.times) {
        one.before_ns.push_back(sum_ns);
        sum_ns += time.end_ns - time.start_ns;
      }
    }
  }

  // On the member's own clock.
  int64_t within(size_t member, trace::Interval window) const {
    if (window.end_ns <= window.start_ns) return 0;
    return until(member, window.end_ns) - until(member, window.start_ns);
  }

 private:
  struct Waits {
    trace::IntervalSet times;
    std::vector<int64_t> before_ns;  // how much there is before each
  };

  int64_t until(size_t member, int64_t ns) const {
    const Waits& waits = waits_[member];
    const auto after = std::upper_bound(
        waits.times.begin(), waits.times.end(), ns,
        [](int64_t at, const trace::Interval& time) { return at < time.start_ns; });
    if (after == waits.times.begin()) return 0;
    const auto last = static_cast<size_t>(after - waits.times.begin()) - 1;
    return waits.before_ns[last] + std::min(ns, waits.times[last].end_ns) -
           waits.times[last].start_ns;
  }

  std::vector<Waits> waits_;  // by member
};

// The collectives of one member in one group.
struct InGroup {
  std::vector<std::pair<trace::Interval, size_t>> instances;  // when, and of Matched::instances
};

// A group leaves some collectives together. A rank that then comes last to the next was held up in
// between; if that may have been a wait for others, it is not the rank's own doing.
int64_t maybe_waited(const InGroup& group, size_t member, const Collectives& all,
                     const Matched& matched, const HiddenWaits& hidden) {
  std::vector<std::pair<trace::Interval, size_t>> order = group.instances;
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.first.start_ns < b.first.start_ns; });
  int64_t left_ns = std::numeric_limits<int64_t>::min(), sum_ns = 0;
  for (const auto& [time, i] : order) {
    const Instance& instance = matched.instances[i];
    if (instance.last == member) {
      sum_ns += std::min(instance.late_ns, hidden.within(member, {left_ns, time.start_ns}));
    }
    if (leaves_together(all.list[instance.parts.front()])) left_ns = time.end_ns;
  }
  return sum_ns;
}

// Whether others wait for a member for most of the time, and that is neither chance, as where ranks
// are late at random, nor one collective alone: it is what they wait for it less what they wait for
// all others by more than two standard deviations of what a toss of a coin for each collective
// would make of it.
bool causes_most(const LatenessInGroup& one, double sum_of_squares) {
  constexpr double kDeviations = 2;
  const auto more_ns = static_cast<double>(2 * one.caused_in_group_ns - one.waits_in_group_ns);
  return more_ns > 0 && more_ns * more_ns > kDeviations * kDeviations * sum_of_squares;
}

LatenessInGroup lateness_in(const InGroup& group, size_t member, const Matched& matched) {
  constexpr int64_t kMostOfThem = 60;  // percent
  LatenessInGroup one;
  one.worst_group = group.instances.back().second;
  one.in_group = static_cast<int64_t>(group.instances.size());
  double sum_of_squares = 0;
  for (const auto& [time, i] : group.instances) {
    const Instance& instance = matched.instances[i];
    const int64_t waits_ns = instance.all_waited_ns();
    one.waits_in_group_ns += waits_ns;
    sum_of_squares += static_cast<double>(waits_ns) * static_cast<double>(waits_ns);
    if (instance.last != member) continue;
    ++one.last_in_group;
    one.late_in_group_ns += instance.late_ns;
    one.least_ns =
        one.last_in_group == 1 ? instance.late_ns : std::min(one.least_ns, instance.late_ns);
    one.most_ns = std::max(one.most_ns, instance.late_ns);
    one.caused_in_group_ns += waits_ns;
  }
  one.is_often_last =
      one.last_in_group > 0 && one.last_in_group * 100 >= one.in_group * kMostOfThem;
  one.is_late = one.is_often_last || causes_most(one, sum_of_squares);
  return one;
}

bool is_worse(const LatenessInGroup& a, const LatenessInGroup& b) {
  return std::pair(a.is_late, a.caused_in_group_ns) > std::pair(b.is_late, b.caused_in_group_ns);
}

// A rank that waited is late for the next collective by about as much.
bool is_its_own(int64_t late_ns, int64_t waited_ns) { return waited_ns < late_ns - late_ns / 4; }

// The collective of this member in the instance; nullptr if it takes no part.
const Collective* part_of(const Collectives& all, const Instance& instance, size_t member,
                          int64_t& waited_ns) {
  for (size_t i = 0; i < instance.parts.size(); ++i) {
    const Collective& one = all.list[instance.parts[i]];
    if (one.member != member) continue;
    waited_ns = instance.is_compared ? instance.waited_ns[i] : 0;
    return &one;
  }
  return nullptr;
}

template <typename Wanted>
std::vector<Lateness> who_is_late(const Collectives& all, const Matched& matched, Wanted wanted) {
  std::vector<Lateness> late;
  for (const Lateness& one : lateness(all, matched)) {
    if (one.is_late && wanted(one)) late.push_back(one);
  }
  std::stable_sort(late.begin(), late.end(),
                   [](const Lateness& a, const Lateness& b) { return a.late_ns > b.late_ns; });
  return late;
}

bool has_all_members(const Collectives& all, const Instance& instance, const Instance& of) {
  return std::includes(instance.parts.begin(), instance.parts.end(), of.parts.begin(),
                       of.parts.end(),
                       [&](size_t a, size_t b) { return all.list[a].member < all.list[b].member; });
}

}  // namespace

std::vector<Lateness> lateness(const Collectives& all, const Matched& matched) {
  std::vector<Lateness> result(all.members.size());
  std::map<std::pair<size_t, std::string>, InGroup> groups;  // by member
  for (size_t i = 0; i < matched.instances.size(); ++i) {
    const Instance& instance = matched.instances[i];
    if (!instance.is_compared) continue;
    int64_t waited_ns = 0;
    for (size_t part = 0; part < instance.parts.size(); ++part) {
      const Collective& one = all.list[instance.parts[part]];
      waited_ns += instance.waited_ns[part];
      ++result[one.member].collectives;
      result[one.member].waited_ns += instance.waited_ns[part];
      groups[{one.member, one.group}].instances.push_back({{one.start_ns, one.end_ns}, i});
    }
    if (instance.last == kNobody) continue;
    ++result[instance.last].last;
    result[instance.last].late_ns += instance.late_ns;
    result[instance.last].caused_ns += waited_ns;
  }
  for (size_t member = 0; member < result.size(); ++member) result[member].member = member;
  const HiddenWaits hidden(all, matched);
  for (const auto& [key, group] : groups) {
    Lateness& one = result[key.first];
    one.maybe_waited_ns += maybe_waited(group, key.first, all, matched, hidden);
    const LatenessInGroup here = lateness_in(group, key.first, matched);
    LatenessInGroup& worst = one;
    if (worst.worst_group == kNobody || is_worse(here, worst)) worst = here;
  }
  return result;
}

std::string lateness_text(const Lateness& one) {
  const int64_t mean_ns = one.late_in_group_ns / std::max<int64_t>(1, one.last_in_group);
  std::string text = format_duration(mean_ns) + " late on average";
  if (one.most_ns - one.least_ns > mean_ns) {
    text +=
        fmt::format(", from {} to {}", format_duration(one.least_ns), format_duration(one.most_ns));
  }
  return text;
}

std::string waited_text(const Lateness& one) {
  std::string text = "waited " + format_duration(one.caused_in_group_ns) + " for it";
  if (!one.is_often_last) {
    text += fmt::format(", of {} in the group", format_duration(one.waits_in_group_ns));
  }
  if (one.caused_ns != one.caused_in_group_ns) {
    text += fmt::format(", and {} in all its groups", format_duration(one.caused_ns));
  }
  return text;
}

std::vector<Lateness> stragglers(const Collectives& all, const Matched& matched) {
  return who_is_late(all, matched, [](const Lateness& one) {
    return is_its_own(one.late_ns, one.waited_ns + one.maybe_waited_ns);
  });
}

std::vector<Lateness> unproven_stragglers(const Collectives& all, const Matched& matched) {
  return who_is_late(all, matched, [](const Lateness& one) {
    return is_its_own(one.late_ns, one.waited_ns) &&
           !is_its_own(one.late_ns, one.waited_ns + one.maybe_waited_ns);
  });
}

EarlierWait wait_before(const Collectives& all, const Matched& matched, const Instance& instance) {
  EarlierWait found;
  int64_t waited_ns = 0;
  if (instance.last == kNobody) return found;
  const Collective* const late = part_of(all, instance, instance.last, waited_ns);
  if (late == nullptr) return found;
  struct Wait {
    const Instance* instance;
    trace::Interval time;
  };
  std::vector<Wait> waits;
  std::optional<int64_t> left_ns;
  for (const Instance& other : matched.instances) {
    const Collective* const one = part_of(all, other, instance.last, waited_ns);
    if (one == nullptr || one->end_ns > late->start_ns) continue;
    if (leaves_together(*one) && has_all_members(all, other, instance)) {
      left_ns = std::max(left_ns.value_or(one->end_ns), one->end_ns);
    }
    waits.push_back({&other, {one->start_ns, one->start_ns + waited_ns}});
  }
  trace::IntervalSet times;
  std::map<size_t, int64_t> by_member;
  for (const Wait& one : waits) {
    if (!left_ns || one.time.start_ns < *left_ns || one.time.end_ns == one.time.start_ns) continue;
    times.push_back(one.time);
    int64_t& sum_ns = by_member[one.instance->last];
    sum_ns += one.time.end_ns - one.time.start_ns;
    if (sum_ns <= found.most_ns) continue;
    found.most_ns = sum_ns;
    found.member = one.instance->last;
    found.instance = one.instance;
  }
  trace::normalise(times);
  found.waited_ns = trace::length_ns(times);
  return is_its_own(instance.late_ns, found.waited_ns) ? EarlierWait() : found;
}

std::string causes_text(const Collectives& all, const Matched& matched, const Instance& instance) {
  constexpr int kMostCauses = 8;
  std::string text;
  const Instance* of = &instance;
  for (int i = 0; i < kMostCauses && of != nullptr; ++i) {
    const EarlierWait cause = wait_before(all, matched, *of);
    if (cause.waited_ns == 0) break;
    text += fmt::format("{} had waited {}{} for {}", i == 0 ? ", after it" : ", which",
                        format_duration(cause.waited_ns),
                        cause.most_ns < cause.waited_ns ? ", most of it" : "",
                        cause.member == kNobody ? "others" : name_of(all.members[cause.member]));
    of = cause.member == kNobody ? nullptr : cause.instance;
  }
  return text;
}

}  // namespace sonde::analysis
