#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/collectives.h"
#include "analysis/quantile.h"

namespace sonde::analysis {
namespace {

// The collectives of one group, by member.
using Group = std::map<size_t, std::vector<size_t>>;

bool alike(const Collective& a, const Collective& b) { return a.op == b.op && a.bytes == b.bytes; }

void match_by_number(const Collectives& all, const Group& group, Matched& matched) {
  std::map<std::pair<int64_t, std::string>, std::vector<size_t>> by_number;
  for (const auto& [member, rows] : group) {
    for (const size_t row : rows) {
      by_number[{all.list[row].sequence, all.list[row].op}].push_back(row);
    }
  }
  for (auto& [number, parts] : by_number) {
    const bool is_whole = parts.size() == group.size() &&
                          std::adjacent_find(parts.begin(), parts.end(), [&](size_t a, size_t b) {
                            return all.list[a].member == all.list[b].member;
                          }) == parts.end();
    if (is_whole) matched.instances.push_back({std::move(parts)});
  }
}

void match_by_order(const Collectives& all, const std::string& name, const Group& group,
                    Matched& matched) {
  const std::vector<size_t>& first = group.begin()->second;
  for (const auto& [member, rows] : group) {
    size_t i = 0;
    while (i < rows.size() && i < first.size() && alike(all.list[rows[i]], all.list[first[i]])) ++i;
    if (i == rows.size() && i == first.size()) continue;
    matched.refused.push_back(fmt::format(
        "collectives of group '{}' are not matched: rank {} has {} and rank {} has {}, which differ "
        "from number {} on, and the files do not number them",
        name, all.members[group.begin()->first].rank, first.size(), all.members[member].rank,
        rows.size(), i + 1));
    return;
  }
  for (size_t i = 0; i < first.size(); ++i) {
    Instance instance;
    for (const auto& [member, rows] : group) instance.parts.push_back(rows[i]);
    matched.instances.push_back(std::move(instance));
  }
}

// Ends must coincide: the median of the distances is how far a clock is ahead.
void find_offsets(const Collectives& all, Matched& matched) {
  matched.offset_ns.assign(all.members.size(), 0);
  std::vector<std::vector<int64_t>> distances(all.members.size());
  for (const Instance& instance : matched.instances) {
    const Collective& first = all.list[instance.parts.front()];
    if (first.member != 0) continue;
    for (const size_t part : instance.parts) {
      distances[all.list[part].member].push_back(all.list[part].end_ns - first.end_ns);
    }
  }
  for (size_t member = 0; member < distances.size(); ++member) {
    if (!distances[member].empty()) matched.offset_ns[member] = median(distances[member]);
  }
}

void measure(const Collectives& all, Matched& matched) {
  std::vector<int64_t> residuals;
  for (Instance& instance : matched.instances) {
    int64_t first_start = std::numeric_limits<int64_t>::max();
    int64_t last_start = std::numeric_limits<int64_t>::min();
    int64_t first_end = first_start, last_end = last_start;
    instance.latency_ns = first_start;
    for (const size_t part : instance.parts) {
      const Collective& one = all.list[part];
      const int64_t start_ns = one.start_ns - matched.offset_ns[one.member];
      const int64_t end_ns = one.end_ns - matched.offset_ns[one.member];
      if (start_ns > last_start) instance.last = one.member;
      first_start = std::min(first_start, start_ns);
      last_start = std::max(last_start, start_ns);
      first_end = std::min(first_end, end_ns);
      last_end = std::max(last_end, end_ns);
      instance.latency_ns = std::min(instance.latency_ns, one.duration_ns());
    }
    instance.skew_ns = last_start - first_start;
    instance.span_ns = last_end - first_start;
    if (instance.parts.size() > 1) residuals.push_back(last_end - first_end);
  }
  if (!residuals.empty()) matched.residual_ns = median(residuals);
}

}  // namespace

Matched match_collectives(const Collectives& collectives) {
  std::map<std::string, Group> groups;
  for (size_t i = 0; i < collectives.list.size(); ++i) {
    groups[collectives.list[i].group][collectives.list[i].member].push_back(i);
  }
  Matched matched;
  for (const auto& [name, group] : groups) {
    bool is_numbered = true;
    for (const auto& [member, rows] : group) {
      for (const size_t row : rows) is_numbered &= collectives.list[row].sequence >= 0;
    }
    if (is_numbered) {
      match_by_number(collectives, group, matched);
    } else {
      match_by_order(collectives, name, group, matched);
    }
  }
  find_offsets(collectives, matched);
  measure(collectives, matched);
  return matched;
}

}  // namespace sonde::analysis
