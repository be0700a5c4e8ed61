#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/collectives/collectives.h"
#include "analysis/findings/rules.h"
#include "analysis/quantile.h"

namespace sonde::analysis {
namespace {

constexpr Rule kStragglerRule = {
    "straggler",
    "Ranks wait in collectives for one that comes late",
    "Look at what the late rank does before the collective: its share of the data, its host, its "
    "clocks. sonde ranks compares them, sonde collectives shows who waited for whom.",
    "the time that ranks waited in collectives without computing (of processes that have none on a "
    "GPU, in those of gloo and MPI), for one rank that came last, "
    "alone and by more than the uncertainty of the clocks, in 60 % of the collectives of one of "
    "its groups, or that caused most of the waiting of one, by more than chance explains; it must "
    "not wait as long for others itself, nor may it have done so in collectives that are not "
    "matched or not compared",
    "all of it",
    true};

constexpr Rule kWaitsRule = {
    "collective-waits",
    "Ranks wait in collectives for one another",
    "Balance the work: batches of equal length; logging, checkpoints and garbage collection at the "
    "same time on all ranks. sonde collectives shows who waited for whom, sonde steps which steps "
    "took longer.",
    "the time that ranks waited in collectives without computing, for ranks other than the "
    "straggler, if there is one",
    "all of it",
    true};

constexpr Rule kSlowRule = {
    "slow-collectives",
    "Some collectives take much longer than others of their size",
    "This is waiting or a slow link, which overlap does not fix: look for the late rank and for "
    "the link (topology, NCCL_DEBUG=INFO, network errors). With the traces of all ranks, sonde "
    "collectives shows which it is.",
    "collectives at less than half the usual rate of their group for this operation and size, "
    "without computation beside them",
    "the time beyond the usual",
    true};

constexpr Rule kTransferRule = {
    "transfer-waits",
    "Sends to and receives from single other ranks run while no kernel computes",
    "This is transfer or waiting for the other rank, which the files do not tell apart. In a "
    "pipeline, compare the stages with sonde ranks: if one computes longer than the others, give "
    "the stages equal work; else use more micro-batches, or overlap the transfer.",
    "the time of sends and receives without computation beside them",
    "not known, as the other rank may set the pace",
    true};

constexpr Rule kMissingRule = {
    "missing-ranks",
    "Ranks wait in a collective to which not all ranks of its group came",
    "Look at the last thing that the missing rank did, and at its log: it may have failed, or be "
    "in another collective (a branch that not all ranks take). If only its recording ended "
    "earlier, leave the time after that out (--to).",
    "the time without computation in collectives after the last that all ranks of a group have, if "
    "all of its ranks are given and one of them lasts five times the usual",
    "not known",
    true};

// Sends of the host, and its transfers, take no GPU time.
void extend_lane(Lanes& lanes, int64_t gpu, trace::Interval time) {
  if (gpu != trace::kNone && time.start_ns < time.end_ns) lanes[gpu].push_back(time);
}

// Time of collectives by file, without the time in which the GPU computed: a rank that waits while
// it computes loses nothing.
void claim(const Rule& rule, std::vector<Lanes> times, double saved, const std::string& text,
           std::span<const trace::Trace> traces, std::span<Claims> claims) {
  constexpr double kNotable = 0.1;  // of the time, where there is no figure
  for (size_t i = 0; i < claims.size(); ++i) {
    const auto gpus = times[i].empty() ? std::map<int64_t, GpuTime>() : gpu_times(traces[i]);
    for (auto& [gpu, set] : times[i]) {
      trace::normalise(set);
      const auto found = gpus.find(gpu);
      if (found == gpus.end()) continue;
      set = trace::subtract(trace::clip(set, found->second.extent),
                            found->second.sets[static_cast<size_t>(trace::Category::kCompute)]);
    }
    int64_t wall_ns = 0;
    for (const auto& [gpu, time] : gpus) wall_ns += time.extent.end_ns - time.extent.start_ns;
    const auto cost_ns = static_cast<double>(length_ns(times[i]));
    const bool is_notable = saved == 0 && cost_ns >= kNotable * static_cast<double>(wall_ns);
    claims[i].push_back({&rule, std::move(times[i]), saved, text, is_notable, true});
  }
}

// When ranks waited in those collectives that `wanted` takes, by file.
template <typename Wanted>
std::vector<Lanes> waits_in(const Collectives& all, const Matched& matched,
                            std::span<const trace::Trace> traces, Wanted wanted) {
  std::vector<Lanes> waits(traces.size());
  WaitingGpus gpus(traces);
  for (const Instance& instance : matched.instances) {
    if (!instance.is_compared || !wanted(instance)) continue;
    for (size_t i = 0; i < instance.parts.size(); ++i) {
      const Collective& one = all.list[instance.parts[i]];
      const int64_t waited_ns = std::min(one.duration_ns(), instance.waited_ns[i]);
      for (const int64_t gpu : gpus.of(one)) {
        extend_lane(waits[one.file], gpu, {one.start_ns, one.start_ns + waited_ns});
      }
    }
  }
  return waits;
}

size_t straggler_of(const Collectives& all, const Matched& matched) {
  const auto late = stragglers(all, matched);
  return late.empty() ? kNobody : late.front().member;
}

void add_straggler(const Collectives& all, const Matched& matched,
                   std::span<const trace::Trace> traces, std::span<Claims> claims) {
  const auto late = stragglers(all, matched);
  if (late.empty()) return;
  const Lateness& first = late.front();
  const std::string text =
      fmt::format("{} came last in {} of {} collectives of its group, {}; the others {}",
                  name_of(all.members[first.member]), first.last_in_group, first.in_group,
                  lateness_text(first), waited_text(first)) +
      late_deed_text(all, matched, first, traces, claims);
  auto waits = waits_in(all, matched, traces,
                        [&](const Instance& instance) { return instance.last == first.member; });
  claim(kStragglerRule, std::move(waits), 1.0, text, traces, claims);
}

std::string names_text(const Collectives& all, std::span<const size_t> parts) {
  constexpr size_t kMost = 8;
  std::string text = parts.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i == kMost) return text + fmt::format(" and {} more", parts.size() - kMost);
    const std::string name = name_of(all.members[all.list[parts[i]].member]);
    text += (i == 0 ? " " : ", ") + name.substr(std::string_view("rank ").size());
  }
  return text;
}

// For whom the ranks of an instance waited: the one that came last, or, where it came hardly later
// than others, those that came after the longest time in which none did.
std::string late_ones_text(const Collectives& all, const Matched& matched,
                           const Instance& instance) {
  const auto start_ns = [&](size_t part) {
    return all.list[part].start_ns - matched.offset_ns[all.list[part].member];
  };
  if (instance.last != kNobody && instance.late_ns * 2 >= instance.skew_ns) {
    return fmt::format(", for {}, which came {} late", name_of(all.members[instance.last]),
                       time_text(instance.late_ns)) +
           causes_text(all, matched, instance);
  }
  std::vector<size_t> parts = instance.parts;
  std::stable_sort(parts.begin(), parts.end(),
                   [&](size_t a, size_t b) { return start_ns(a) < start_ns(b); });
  size_t early = 0;
  int64_t longest_ns = 0;
  for (size_t i = 1; i < parts.size(); ++i) {
    const int64_t between_ns = start_ns(parts[i]) - start_ns(parts[i - 1]);
    if (between_ns <= longest_ns) continue;
    longest_ns = between_ns;
    early = i;
  }
  if (longest_ns * 2 < instance.skew_ns || early == 0) {
    return fmt::format(", to which they came one after the other within {}",
                       time_text(instance.skew_ns));
  }
  std::sort(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(early));
  std::sort(parts.begin() + static_cast<ptrdiff_t>(early), parts.end());  // by member
  const std::span<const size_t> first(parts.data(), early);
  const std::span<const size_t> late(parts.data() + early, parts.size() - early);
  return late.size() > first.size() ? fmt::format(", for all but {}, which came {} before them",
                                                  names_text(all, first), time_text(longest_ns))
                                    : fmt::format(", for {}, which came {} after the others",
                                                  names_text(all, late), time_text(longest_ns));
}

// All other waits: ranks take turns being late, or one is late now and then.
void add_waits(const Collectives& all, const Matched& matched, std::span<const trace::Trace> traces,
               std::span<Claims> claims) {
  const size_t straggler = straggler_of(all, matched);
  const auto is_other = [&](const Instance& instance) {
    return straggler == kNobody || instance.last != straggler;
  };
  int64_t count = 0, waited_ns = 0;
  const Instance* longest = nullptr;
  for (const Instance& instance : matched.instances) {
    const int64_t waits_ns = instance.all_waited_ns();
    if (!is_other(instance) || waits_ns == 0) continue;
    ++count;
    waited_ns += waits_ns;
    // Of equal ones the last: what came before it is known.
    if (longest == nullptr || waits_ns >= longest->all_waited_ns()) longest = &instance;
  }
  if (longest == nullptr) return;
  std::string text =
      fmt::format("ranks waited {} in {} of {} collectives; most in one, {}", time_text(waited_ns),
                  count, matched.instances.size(), time_text(longest->all_waited_ns()));
  text += late_ones_text(all, matched, *longest);
  claim(kWaitsRule, waits_in(all, matched, traces, is_other), 1.0, text, traces, claims);
}

void add_slow(const Collectives& all, const Matched& matched, std::span<const trace::Trace> traces,
              std::span<Claims> claims) {
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
      extend_lane(slow[one.file], one.gpu, {one.start_ns, one.end_ns});
    }
  }
  int64_t cost_ns = 0;  // also where something is computed beside it
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
  claim(kSlowRule, std::move(slow), saved, text, traces, claims);
}

void add_transfers(const Collectives& all, std::span<const trace::Trace> traces,
                   std::span<Claims> claims) {
  std::vector<Lanes> times(claims.size());
  int64_t count = 0, total_ns = 0;
  for (const Collective& one : all.list) {
    if (one.op != "send" && one.op != "recv") continue;
    ++count;
    total_ns += one.duration_ns();
    extend_lane(times[one.file], one.gpu, {one.start_ns, one.end_ns});
  }
  if (count == 0) return;
  claim(kTransferRule, std::move(times), 0,
        fmt::format("{} sends and receives take {}", count, time_text(total_ns)), traces, claims);
}

// What is not matched of a group, after the last that is.
struct Rest {
  std::vector<size_t> rows;  // of Collectives::list
  std::set<size_t> members;  // that have these
};

std::map<std::string, Rest> rests_of(const Collectives& all, const Matched& matched) {
  std::map<std::pair<std::string, size_t>, int64_t> last_ns;  // of what is matched, by member
  for (const Instance& instance : matched.instances) {
    for (const size_t part : instance.parts) {
      const Collective& one = all.list[part];
      int64_t& last = last_ns.try_emplace({one.group, one.member}, one.start_ns).first->second;
      last = std::max(last, one.start_ns);
    }
  }
  std::map<std::string, Rest> rests;
  for (const size_t row : matched.unmatched) {
    const Collective& one = all.list[row];
    const auto last = last_ns.find({one.group, one.member});
    if (last == last_ns.end() || one.start_ns <= last->second) continue;
    rests[one.group].rows.push_back(row);
    rests[one.group].members.insert(one.member);
  }
  return rests;
}

const Collective& longest_of(const Collectives& all, const Rest& rest) {
  const auto longest = std::max_element(
      rest.rows.begin(), rest.rows.end(),
      [&](size_t a, size_t b) { return all.list[a].duration_ns() < all.list[b].duration_ns(); });
  return all.list[*longest];
}

// Who of a group did not come to the rest of its collectives, of which the longest takes far longer
// than usual; "" if all came, or not all members of the group are given.
std::string missing_in(const Collectives& all, const Matched& matched, const std::string& group,
                       const Rest& rest, const Collective& longest) {
  constexpr int64_t kLong = 5;  // times the usual
  std::set<size_t> members;
  std::vector<int64_t> usual;
  for (const Instance& instance : matched.instances) {
    if (all.list[instance.parts.front()].group != group) continue;
    for (const size_t part : instance.parts) {
      members.insert(all.list[part].member);
      usual.push_back(all.list[part].duration_ns());
    }
  }
  const bool is_whole = longest.group_size == static_cast<int64_t>(members.size());
  if (!is_whole || longest.duration_ns() < kLong * median(usual)) return "";
  std::string missing;
  for (const size_t member : members) {
    if (rest.members.contains(member)) continue;
    missing += (missing.empty() ? "" : ", ") + name_of(all.members[member]);
  }
  return missing;
}

// One claim for all groups: a GPU may wait in several of them at the same time.
void add_missing(const Collectives& all, const Matched& matched,
                 std::span<const trace::Trace> traces, std::span<Claims> claims) {
  std::vector<Lanes> times(claims.size());
  const Collective* longest = nullptr;
  std::string text;
  int64_t groups = 0;
  for (const auto& [group, rest] : rests_of(all, matched)) {
    const Collective& of_group = longest_of(all, rest);
    const std::string missing = missing_in(all, matched, group, rest, of_group);
    if (missing.empty()) continue;
    ++groups;
    for (const size_t row : rest.rows) {
      const Collective& one = all.list[row];
      extend_lane(times[one.file], one.gpu, {one.start_ns, one.end_ns});
    }
    if (longest != nullptr && of_group.duration_ns() <= longest->duration_ns()) continue;
    longest = &of_group;
    text = fmt::format(
        "{} did not come to the last {} of group '{}', or its recording ended before: {} waits {} "
        "in it",
        missing, longest->op, group, name_of(all.members[longest->member]),
        time_text(longest->duration_ns()));
  }
  if (longest == nullptr) return;
  if (groups > 1) {
    text += fmt::format("; so it is in {} more group{}", groups - 1, groups == 2 ? "" : "s");
  }
  claim(kMissingRule, std::move(times), 0, text, traces, claims);
}

}  // namespace

const std::vector<int64_t>& WaitingGpus::of(const Collective& one) {
  if (one.gpu != trace::kNone) {
    return of_gpu_.try_emplace({one.file, one.gpu}, std::vector<int64_t>{one.gpu}).first->second;
  }
  const auto [entry, is_new] =
      of_process_.try_emplace({one.file, one.process}, std::vector<int64_t>());
  if (!is_new) return entry->second;
  std::set<int64_t> gpus;
  const trace::Ops& ops = traces_[one.file].ops;
  for (size_t op = 0; op < ops.size(); ++op) {
    if (ops.process[op] == one.process) gpus.insert(ops.gpu[op]);
  }
  entry->second.assign(gpus.begin(), gpus.end());
  return entry->second;
}

std::vector<const Rule*> rank_rules() {
  return {&kStragglerRule, &kWaitsRule, &kSlowRule, &kTransferRule, &kMissingRule};
}

void add_rank_claims(std::span<const trace::Trace> traces, std::span<Claims> claims) {
  const Collectives all = find_collectives(traces);
  const Matched matched = match_collectives(all);
  add_slow(all, matched, traces, claims);
  add_transfers(all, traces, claims);
  if (all.members.size() < 2) return;
  add_straggler(all, matched, traces, claims);
  add_waits(all, matched, traces, claims);
  add_missing(all, matched, traces, claims);
}

}  // namespace sonde::analysis
