#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/collectives/collectives.h"

namespace sonde::analysis {
namespace {

// The collectives of one group, by member.
using Group = std::map<size_t, std::vector<size_t>>;

std::string name_of(const Collectives& all, size_t member) { return name_of(all.members[member]); }

// Files of one job have each rank once.
bool repeats_ranks(const Collectives& all, const Group& group) {
  std::set<std::pair<int64_t, int64_t>> ranks;
  for (const auto& [member, rows] : group) {
    ranks.insert({all.members[member].rank, all.members[member].gpu});
  }
  return ranks.size() < group.size();
}

void note_left_out(const Collectives& all, const std::string& name, const Group& group,
                   size_t matched, Matched& result) {
  std::string sides;
  for (const auto& [member, rows] : group) {
    if (rows.size() == matched) continue;
    sides += fmt::format("{}{} of {}", sides.empty() ? "" : ", ", rows.size() - matched,
                         name_of(all, member));
  }
  if (sides.empty()) return;
  result.left_out.push_back(fmt::format(
      "collectives of group '{}' that not all ranks have are left out: {}", name, sides));
}

// Several kernels of one number (of a coalesced call) are told apart by their order.
void match_by_number(const Collectives& all, const std::string& name, const Group& group,
                     Matched& matched) {
  std::map<std::pair<int64_t, std::string>, Group> by_number;
  for (const auto& [member, rows] : group) {
    for (const size_t row : rows) {
      by_number[{all.list[row].sequence, all.list[row].op}][member].push_back(row);
    }
  }
  size_t count = 0;
  for (const auto& [number, sides] : by_number) {
    const size_t size = sides.begin()->second.size();
    const bool is_whole = sides.size() == group.size() &&
                          std::all_of(sides.begin(), sides.end(),
                                      [&](const auto& side) { return side.second.size() == size; });
    for (const auto& [member, rows] : sides) {
      if (!is_whole) matched.unmatched.insert(matched.unmatched.end(), rows.begin(), rows.end());
    }
    for (size_t i = 0; is_whole && i < size; ++i) {
      Instance instance;
      for (const auto& [member, rows] : sides) instance.parts.push_back(rows[i]);
      matched.instances.push_back(std::move(instance));
      ++count;
    }
  }
  note_left_out(all, name, group, count, matched);
}

// Each member beside the one with most; what all have is matched.
void match_by_order(const Collectives& all, const std::string& name, const Group& group,
                    Matched& matched) {
  auto most = group.begin();
  for (auto side = group.begin(); side != group.end(); ++side) {
    if (side->second.size() > most->second.size()) most = side;
  }
  std::vector<Instance> instances(most->second.size());
  for (const auto& [member, rows] : group) {
    if (member == most->first) {
      for (size_t i = 0; i < rows.size(); ++i) instances[i].parts.push_back(rows[i]);
      continue;
    }
    const auto pairs = align_rows(all, most->second, rows);
    if (pairs.empty()) {
      matched.refused.push_back(fmt::format(
          "collectives of group '{}' are not matched: {} has {} and {} has {}, less than half of "
          "which are the same in a row, and the files do not number them",
          name, name_of(all, most->first), most->second.size(), name_of(all, member), rows.size()));
      return;
    }
    for (const auto& [in_most, in_rows] : pairs) instances[in_most].parts.push_back(rows[in_rows]);
  }
  size_t count = 0;
  for (Instance& instance : instances) {
    if (instance.parts.size() != group.size()) {
      matched.unmatched.insert(matched.unmatched.end(), instance.parts.begin(),
                               instance.parts.end());
      continue;
    }
    std::sort(instance.parts.begin(), instance.parts.end(),
              [&](size_t a, size_t b) { return all.list[a].member < all.list[b].member; });
    matched.instances.push_back(std::move(instance));
    ++count;
  }
  note_left_out(all, name, group, count, matched);
}

// Why ranks may use different communicators, "" if they do not. Their handles, which are all that
// is known of these, say nothing in another process.
std::string why_apart(const Collectives& all, const Group& group) {
  std::set<int64_t> sizes;
  for (const auto& [member, rows] : group) {
    std::set<std::string> handles;
    for (const size_t row : rows) {
      const Collective& one = all.list[row];
      if (!one.group.empty() || one.communicator.empty()) continue;
      handles.insert(one.communicator);
      sizes.insert(one.group_size);
    }
    if (handles.size() > 1) {
      return fmt::format("{} uses {} communicators", name_of(all, member), handles.size());
    }
  }
  if (sizes.size() > 1) return "the communicators of ranks have different sizes";
  // Two ranks have no one else to share theirs with, and with a size that is told they are
  // compared.
  if (sizes.empty() || *sizes.begin() != 0 || group.size() == 2) return "";
  return fmt::format("{} ranks use communicators of unknown sizes", group.size());
}

}  // namespace

Matched match_collectives(const Collectives& collectives) {
  std::map<std::string, Group> groups;
  for (size_t i = 0; i < collectives.list.size(); ++i) {
    // Sends and receives are between two ranks, which nothing tells: that all of a group have as
    // many in the same order does not make them pairs.
    const std::string& op = collectives.list[i].op;
    if (op == "send" || op == "recv") continue;
    groups[collectives.list[i].group][collectives.list[i].member].push_back(i);
  }
  Matched matched;
  for (const auto& [name, group] : groups) {
    const int64_t told = collectives.list[group.begin()->second.front()].group_size;
    if (told > 0 && static_cast<int64_t>(group.size()) > told) {
      matched.refused.push_back(fmt::format(
          "collectives of group '{}' are not matched: it has {} ranks but {} have the name, so {}",
          name, told, group.size(),
          repeats_ranks(collectives, group) ? "the files are of several runs"
                                            : "several groups share it"));
      continue;
    }
    const std::string apart = group.size() > 1 ? why_apart(collectives, group) : "";
    if (!apart.empty()) {
      matched.refused.push_back(fmt::format(
          "collectives are not matched: {}, and nothing tells which ranks share one", apart));
      continue;
    }
    if (group.size() > 1 && static_cast<int64_t>(group.size()) < told) {
      matched.left_out.push_back(
          fmt::format("{} of the {} ranks of group '{}' are in the files: the others may be late",
                      group.size(), told, name));
    }
    bool is_numbered = true;
    for (const auto& [member, rows] : group) {
      for (const size_t row : rows) is_numbered &= collectives.list[row].sequence >= 0;
    }
    if (is_numbered) {
      match_by_number(collectives, name, group, matched);
    } else {
      match_by_order(collectives, name, group, matched);
    }
  }
  put_on_one_clock(collectives, matched);
  return matched;
}

}  // namespace sonde::analysis
