// Turns claims into findings: claims of one rule in several traces become one finding, and each
// moment of a GPU or thread goes to one finding.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "analysis/findings/rules.h"

namespace sonde::analysis {
namespace {

using trace::IntervalSet;
using Lane = std::pair<size_t, int64_t>;  // of a trace
using Share = std::map<Lane, IntervalSet>;

// A rule in all traces.
struct Candidate {
  const Rule* rule = nullptr;
  Share at_stake;
  int64_t cost_ns = 0, largest_ns = -1;
  double could_save_ns = 0;       // without regard to other rules
  std::vector<int64_t> costs_ns;  // of the traces that it is in
  bool is_notable = false, is_of_job = false;
  std::string evidence;  // that of the trace where it costs most

  double saved() const { return cost_ns == 0 ? 0 : could_save_ns / static_cast<double>(cost_ns); }
};

int64_t length_of(const Share& share) {
  int64_t sum_ns = 0;
  for (const auto& [lane, set] : share) sum_ns += trace::length_ns(set);
  return sum_ns;
}

std::string trace_text(std::span<const trace::Trace> traces, size_t number) {
  const auto& processes = traces[number].processes;
  const auto with_rank =
      std::find_if(processes.begin(), processes.end(),
                   [](const trace::Process& one) { return one.rank.has_value(); });
  if (with_rank != processes.end()) return fmt::format("rank {}", *with_rank->rank);
  return traces[number].path;
}

// That it is in other traces as well, so that the evidence is one example of several. A trace in
// which it costs next to nothing is none.
std::string more_traces_text(const Candidate& candidate) {
  constexpr int64_t kHardly = 10;  // one part in so many of the largest
  if (candidate.is_of_job) return "";
  const auto others =
      std::count_if(candidate.costs_ns.begin(), candidate.costs_ns.end(),
                    [&](int64_t cost_ns) { return cost_ns >= candidate.largest_ns / kHardly; }) -
      1;
  if (others < 1) return "";
  return fmt::format(" (and in {} more file{})", others, others == 1 ? "" : "s");
}

// Some findings have different advice for different causes.
bool is_same(const Candidate& candidate, const Claim& claim) {
  return std::string_view(candidate.rule->id) == claim.rule->id;
}

std::vector<Candidate> candidates_of(std::span<const Claims> claims,
                                     std::span<const trace::Trace> traces) {
  std::vector<Candidate> candidates;
  for (size_t number = 0; number < claims.size(); ++number) {
    for (const Claim& claim : claims[number]) {
      auto same = std::find_if(candidates.begin(), candidates.end(),
                               [&](const Candidate& one) { return is_same(one, claim); });
      if (same == candidates.end()) {
        same = candidates.insert(candidates.end(), Candidate{});
        same->rule = claim.rule;
      }
      const int64_t cost_ns = length_ns(claim.at_stake);
      if (cost_ns == 0) continue;
      for (const auto& [lane, set] : claim.at_stake) {
        auto& times = same->at_stake[{number, lane}];
        times = trace::unite(times, set);
      }
      same->cost_ns += cost_ns;
      same->could_save_ns += claim.saved * static_cast<double>(cost_ns);
      same->costs_ns.push_back(cost_ns);
      same->is_of_job = claim.is_of_job;
      same->is_notable |= claim.is_notable;
      if (cost_ns <= same->largest_ns) continue;
      same->largest_ns = cost_ns;
      same->rule = claim.rule;
      same->evidence = claims.size() == 1 || claim.is_of_job
                           ? claim.evidence
                           : trace_text(traces, number) + ": " + claim.evidence;
    }
  }
  std::erase_if(candidates, [](const Candidate& one) { return one.cost_ns == 0; });
  return candidates;
}

Place longest_of(const Share& share) {
  Place place;
  for (const auto& [lane, set] : share) {
    for (const trace::Interval time : set) {
      if (time.end_ns - time.start_ns <= place.time.end_ns - place.time.start_ns) continue;
      place = {lane.first, lane.second, time};
    }
  }
  return place;
}

Share without(const Share& share, const Share& taken) {
  Share left;
  for (const auto& [lane, set] : share) {
    const auto other = taken.find(lane);
    left[lane] = other == taken.end() ? set : trace::subtract(set, other->second);
  }
  return left;
}

}  // namespace

std::vector<Finding> ranked(std::span<const Claims> claims, int64_t wall_ns,
                            std::span<const trace::Trace> traces) {
  std::vector<Candidate> candidates = candidates_of(claims, traces);
  std::vector<Finding> findings;
  Share taken;
  while (!candidates.empty()) {
    const bool is_any_specific = std::any_of(candidates.begin(), candidates.end(),
                                             [](const auto& one) { return one.rule->is_specific; });
    auto best = candidates.end();
    double best_ns = -1;
    for (auto one = candidates.begin(); one != candidates.end(); ++one) {
      if (is_any_specific && !one->rule->is_specific) continue;
      const double saving_ns =
          one->saved() * static_cast<double>(length_of(without(one->at_stake, taken)));
      if (saving_ns <= best_ns) continue;
      best_ns = saving_ns;
      best = one;
    }
    std::string evidence = std::move(best->evidence) + more_traces_text(*best);
    findings.push_back({best->rule->id, best->rule->title, std::move(evidence), best->rule->advice,
                        best->cost_ns, static_cast<int64_t>(best_ns), wall_ns,
                        length_of(without(best->at_stake, taken)), longest_of(best->at_stake),
                        best->is_notable});
    for (auto& [lane, set] : best->at_stake) taken[lane] = trace::unite(taken[lane], set);
    candidates.erase(best);
  }
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.saving_ns > b.saving_ns; });
  return findings;
}

}  // namespace sonde::analysis
