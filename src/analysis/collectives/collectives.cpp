#include "analysis/collectives/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "analysis/quantile.h"
#include "analysis/recorded_ranks.h"
#include "analysis/totals.h"
#include "base/join.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using report::Kind;
using report::Value;

// Instances of one operation with one size in one group.
struct SameKind {
  std::string group, communicator, op;
  int64_t bytes = -1, group_size = 0;
  friend auto operator<=>(const SameKind&, const SameKind&) = default;
};

struct Answer {
  Collectives all;
  Matched matched;
  Rates rates;
  const Collective& first(const Instance& instance) const {
    return all.list[instance.parts.front()];
  }
  const ClockGroup& clock(const Instance& instance) const {
    return matched.clocks[matched.clock_of[first(instance).member]];
  }
};

Value bandwidth(int64_t bytes, int64_t time_ns, double factor = 1) {
  if (bytes < 0 || time_ns <= 0) return std::monostate{};
  return static_cast<double>(bytes) * factor / static_cast<double>(time_ns);  // GB/s
}

// Class of one instance. Time until the last rank arrives is not transfer time.
const char* class_of(const Instance& instance, const ClockGroup& clock) {
  if (instance.parts.size() < 2) return "one rank";
  if (!instance.is_compared) return "inconclusive";
  if (clock.residual_ns * 3 >= instance.span_ns) return "inconclusive";
  if (instance.skew_ns * 3 >= instance.span_ns * 2) return "skew";
  if (instance.skew_ns * 3 <= instance.span_ns) return "transfer";
  return "mixed";
}

std::string ranks_text(const Answer& answer, const std::vector<size_t>& members) {
  constexpr size_t kMost = 16;
  std::string text;
  for (size_t i = 0; i < members.size(); ++i) {
    if (i == kMost) return text + ", ...";
    const std::string name = name_of(answer.all.members[members[i]]);
    text += fmt::format("{}{}", i == 0 ? "" : ", ", name.substr(std::string_view("rank ").size()));
  }
  return text;
}

report::Section kinds_section(const Answer& answer) {
  report::Section section{
      .key = "collectives",
      .empty_text = answer.all.list.empty()
                        ? "No communication kernels, and no gloo, MPI or UCC calls."
                        : "No collective that all ranks have."};
  report::Table& table = section.table;
  table.add_columns({text("group", "Group"), name("op", "Operation"),
                     bytes("message_bytes", "Message"), integer("ranks", "Ranks"),
                     integer("count", "Count"), time("total_ns", "Total"),
                     time("latency_ns", "Latency"), real("algorithm_gb_per_s", "Algorithm GB/s"),
                     real("bus_gb_per_s", "Bus GB/s"), time("skew_ns", "Skew"),
                     time("max_skew_ns", "Max skew"), real("usual_gb_per_s", "Usual GB/s"),
                     real("peak_gb_per_s", "Peak GB/s"), integer("slow", "Slow")});
  const std::vector<Instance>& all = answer.matched.instances;
  std::map<SameKind, std::vector<size_t>> kinds;
  for (size_t i = 0; i < all.size(); ++i) {
    const Collective& first = answer.first(all[i]);
    kinds[{first.group, first.communicator, first.op, first.bytes, ranks_of(answer.all, all[i])}]
        .push_back(i);
  }
  for (const auto& [kind, instances] : kinds) {
    std::vector<int64_t> latencies, skews;
    int64_t total_ns = 0, slow = 0;
    for (const size_t i : instances) {
      latencies.push_back(all[i].latency_ns);
      if (all[i].is_compared) skews.push_back(all[i].skew_ns);
      total_ns += all[i].latency_ns;
      slow += answer.rates.is_slow(i) ? 1 : 0;
    }
    const double usual = answer.rates.usual[instances.front()];
    const double peak = answer.rates.peak[instances.front()];
    const auto count = static_cast<int64_t>(instances.size());
    const auto factor = bus_factor(kind.op, kind.group_size);
    const int64_t bytes = kind.bytes < 0 ? -1 : kind.bytes * count;
    const Value unknown = std::monostate{};
    table.add_row({kind.group.empty() ? kind.communicator : kind.group, kind.op,
                   kind.bytes < 0 ? unknown : Value(kind.bytes), kind.group_size, count, total_ns,
                   median(latencies), bandwidth(bytes, total_ns),
                   factor ? bandwidth(bytes, total_ns, *factor) : unknown,
                   skews.empty() ? unknown : Value(median(skews)),
                   skews.empty() ? unknown : Value(*std::max_element(skews.begin(), skews.end())),
                   usual > 0 ? Value(usual) : unknown, peak > 0 ? Value(peak) : unknown,
                   usual > 0 ? Value(slow) : unknown});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[5]) > std::get<int64_t>(b[5]);
  });
  return section;
}

report::Section ranks_section(const Answer& answer, std::span<const trace::Trace> traces) {
  report::Section section{.key = "ranks", .title = "Who waited for whom"};
  report::Table& table = section.table;
  table.add_columns({id("rank", "Rank"), id("gpu_id", "GPU"), integer("collectives", "Collectives"),
                     time("total_ns", "Total"), time("waited_ns", "Waited"),
                     integer("last", "Came last"), time("late_ns", "Late"),
                     time("caused_ns", "Others waited"), time("clock_ahead_ns", "Clock ahead"),
                     id("clock_group", "Clock group"), text("file", "File")});
  struct Sum {
    int64_t count = 0, total_ns = 0;
    std::set<size_t> files;
  };
  std::vector<Sum> sums(answer.all.members.size());
  for (const Collective& one : answer.all.list) {
    ++sums[one.member].count;
    sums[one.member].total_ns += one.duration_ns();
    sums[one.member].files.insert(one.file);
  }
  const Value unknown = std::monostate{};
  const std::vector<Lateness> late = lateness(answer.all, answer.matched);
  for (size_t i = 0; i < sums.size(); ++i) {
    const Member& member = answer.all.members[i];
    const std::string files =
        join(sums[i].files, ", ", [&](size_t file) { return traces[file].path; });
    const auto known = [&](int64_t value) {
      return late[i].collectives != 0 ? Value(value) : unknown;
    };
    table.add_row({member.rank, member.gpu == trace::kNone ? unknown : Value(member.gpu),
                   sums[i].count, sums[i].total_ns, known(late[i].waited_ns), known(late[i].last),
                   known(late[i].late_ns), known(late[i].caused_ns),
                   known(answer.matched.offset_ns[i]),
                   known(static_cast<int64_t>(answer.matched.clock_of[i])), std::move(files)});
  }
  return section;
}

std::string group_text(const Answer& answer, const Lateness& late) {
  const Collective& one = answer.first(answer.matched.instances[late.worst_group]);
  return one.group.empty() ? "" : " '" + one.group + "'";
}

// One collective may hold up a job for longer than all others together.
std::string once_late(const Answer& answer) {
  const std::vector<Instance>& instances = answer.matched.instances;
  int64_t all_ns = 0;
  const Instance* most = nullptr;
  for (const Instance& instance : instances) {
    all_ns += instance.all_waited_ns();
    if (most == nullptr || instance.all_waited_ns() > most->all_waited_ns()) most = &instance;
  }
  if (most == nullptr || most->last == kNobody || most->all_waited_ns() * 2 <= all_ns) return "";
  std::string text =
      fmt::format("; most waiting, {} of {}, is in one, to which {} came {} late",
                  format_duration(most->all_waited_ns()), format_duration(all_ns),
                  name_of(answer.all.members[most->last]), format_duration(most->late_ns));
  return text + causes_text(answer.all, answer.matched, *most);
}

// The answer that users want first.
std::string late_text(const Answer& answer) {
  const auto late = stragglers(answer.all, answer.matched);
  const std::vector<Instance>& instances = answer.matched.instances;
  const bool any_compared = std::any_of(instances.begin(), instances.end(),
                                        [](const Instance& one) { return one.is_compared; });
  if (!any_compared) {
    return "not known: no two ranks share a collective that none can leave before all have "
           "arrived, so their clocks cannot be compared";
  }
  const auto unproven = unproven_stragglers(answer.all, answer.matched);
  if (late.empty() && !unproven.empty()) {
    const Lateness& first = unproven.front();
    return fmt::format(
        "not known: {} comes last in {} of {} collectives of its group{}, and may itself have "
        "waited for others before",
        name_of(answer.all.members[first.member]), first.last_in_group, first.in_group,
        group_text(answer, first));
  }
  if (late.empty()) {
    const std::string once = once_late(answer);
    const bool lacks_ranks =
        std::any_of(instances.begin(), instances.end(), [&](const Instance& one) {
          return std::cmp_less(one.parts.size(), ranks_of(answer.all, one));
        });
    const char* whom = lacks_ranks ? "no rank of those in the files" : "no rank";
    return once.empty()
               ? fmt::format(
                     "{} is late: none comes last in most collectives of a group, or causes clearly "
                     "most of its waiting",
                     whom)
               : fmt::format("{} is late in most collectives of a group{}", whom, once);
  }
  const Lateness& first = late.front();
  std::string text =
      fmt::format("{} comes last in {} of {} collectives of its group{}, {}; others {}",
                  name_of(answer.all.members[first.member]), first.last_in_group, first.in_group,
                  group_text(answer, first), lateness_text(first), waited_text(first));
  if (late.size() == 2) text += "; 1 more rank is late";
  if (late.size() > 2) text += fmt::format("; {} more ranks are late", late.size() - 1);
  return text;
}

report::Section time_section(const Answer& answer) {
  report::Section section{.key = "time", .title = "Waiting, slow links and transfers"};
  const CommunicationTime spent = communication_time(answer.all, answer.matched);
  if (answer.all.members.size() > 1 && !answer.matched.instances.empty()) {
    section.add_fact({"late", "Late", Kind::kText, late_text(answer)});
  }
  if (spent.verdict() != nullptr) {
    section.add_fact({"verdict", "Most of the time", Kind::kText, std::string(spent.verdict())});
  }
  report::Table& table = section.table;
  table.add_columns(
      {text("part", "Part"), time("time_ns", "All ranks"), percent("percentage", "Share")});
  const std::pair<const char*, int64_t> parts[] = {{"waiting", spent.waiting_ns},
                                                   {"slow link", spent.slow_ns},
                                                   {"waiting or a slow link", spent.held_ns},
                                                   {"waiting or transfer", spent.unknown_ns},
                                                   {"transfer", spent.transfer_ns}};
  for (const auto& [name, time_ns] : parts) {
    if (time_ns == 0) continue;
    table.add_row({std::string(name), time_ns, percent_of(time_ns, spent.total_ns)});
  }
  return section;
}

report::Section classes_section(const Answer& answer) {
  report::Section section{.key = "classes", .title = "Collectives by what took their time"};
  report::Table& table = section.table;
  table.add_columns({text("class", "Class"), integer("collectives", "Collectives"),
                     time("time_ns", "Begin to end"), time("skew_ns", "Skew")});
  for (const char* name : {"transfer", "mixed", "skew", "inconclusive"}) {
    int64_t count = 0, span_ns = 0, skew_ns = 0;
    for (const Instance& instance : answer.matched.instances) {
      if (std::string_view(class_of(instance, answer.clock(instance))) != name) continue;
      ++count;
      span_ns += instance.span_ns;
      skew_ns += instance.skew_ns;
    }
    if (count != 0) table.add_row({std::string(name), count, span_ns, skew_ns});
  }
  return section;
}

void add_notes(const Answer& answer, report::Report& report) {
  report.notes = answer.matched.refused;
  report.notes.insert(report.notes.end(), answer.matched.left_out.begin(),
                      answer.matched.left_out.end());
  if (answer.all.members.size() == 1) {
    report.notes.push_back(
        "one rank only: latency includes the wait for the others, and skew is not known");
  }
  size_t shared = 0;
  for (const ClockGroup& clock : answer.matched.clocks) shared += clock.instances != 0 ? 1 : 0;
  for (const ClockGroup& clock : answer.matched.clocks) {
    if (clock.instances == 0) continue;
    report.notes.push_back(
        fmt::format("{}ends of collectives lie {} apart on the common clock",
                    shared > 1 ? fmt::format("ranks {}: ", ranks_text(answer, clock.members)) : "",
                    format_duration(clock.residual_ns)));
  }
  if (shared > 1) {
    report.notes.push_back(
        "ranks of different clock groups share no collective that none can leave before all have "
        "arrived, directly or through others: their times cannot be compared");
  }
  const auto no_clock =
      std::count_if(answer.matched.instances.begin(), answer.matched.instances.end(),
                    [](const Instance& one) { return one.parts.size() > 1 && !one.is_compared; });
  if (no_clock > 0) {
    report.notes.push_back(fmt::format(
        "{} of {} collectives have ranks without a common clock: which rank waited in them is not "
        "known",
        no_clock, answer.matched.instances.size()));
  }
}

}  // namespace

trace::Request collectives_needs() {
  return {
      .ops = true,
      .links = true,
      .args_of = trace::bit_of(trace::ApiKind::kOperator) | trace::bit_of(trace::ApiKind::kRuntime),
      .args_named = collectives_want_args};
}

report::Report collectives_report(std::span<const trace::Trace> traces) {
  Answer answer;
  answer.all = find_collectives(traces);
  answer.matched = match_collectives(answer.all);
  answer.rates = bus_rates(answer.all, answer.matched);
  report::Report report;
  report.name = "collectives";
  for (const trace::Trace& trace : traces) {
    report.subject += (report.subject.empty() ? "" : ", ") + trace.path;
    report.warnings.insert(report.warnings.end(), trace.warnings.begin(), trace.warnings.end());
  }
  report.sections.push_back(kinds_section(answer));
  if (!answer.all.list.empty()) {
    report.sections.push_back(time_section(answer));
    report.sections.push_back(ranks_section(answer, traces));
  }
  if (answer.all.members.size() > 1 && !answer.matched.instances.empty()) {
    report.sections.push_back(classes_section(answer));
  }
  add_notes(answer, report);
  RecordedRanks(traces).tell(", and counted once", report);
  return report;
}

const char* const kCollectivesDefinition =
    "collectives: the kernels of communication libraries (NCCL, RCCL, MSCCL++, NVSHMEM ...; for "
    "processes without such kernels, gloo, MPI and UCC calls), by communicator, operation and "
    "message size. Group, size and number of ranks come from the record_param_comms around the "
    "launch, or from the RCCL call: there the group is a number that Sonde recorded, which all "
    "ranks of a communicator share, else its handle in the first rank; unknown where there is "
    "neither. The file that SONDE_COMMUNICATION names adds kernel names "
    "(docs/configuration.md). Message is what a rank sends, for allgather what it receives: "
    "elements x bytes of their type.\n\n"
    "Ranks are the processes of a file, or several files given together; a process that "
    "communicates on several GPUs is a rank for each (GPU). One that was recorded several times, "
    "one after the other (a file for each cycle of a profiler), is one rank. Their collectives are "
    "matched by group, number and operation; a send or a receive is not, since nothing says which two belong "
    "together. Where only handles are known, ranks that may use different communicators are not "
    "matched. Where the file does not number them, the longest common run of operations and "
    "sizes gives the offset of the clocks, and collectives that end together belong together; "
    "collectives that not all ranks of a group have are left out, and a note says how many. Ranks "
    "that share less than half in a row are not matched.\n\n"
    "Clocks: no rank leaves an allreduce, allgather, reducescatter or barrier before "
    "all have arrived, so its ends coincide, and the median distance of ends is how far a rank's "
    "clock is ahead (Clock ahead). That is solved for all ranks that share such collectives, "
    "directly or through others (Clock group, ahead of its first rank); ranks of different groups "
    "have no common clock and are not compared. The root of a broadcast may leave long before the "
    "others, one of a reduce long after, a sender at once, and a rank leaves an alltoall when its "
    "own parts, which may be smaller, are there: these set no clock. Starts are then "
    "compared with an uncertainty: the largest of 1 us, the distance within which 90 % of the "
    "ends lie, the distance of the collective's own ends, and a tenth of the transfer, of which no "
    "more than 20 us count (a quarter of all of it if fewer than four collectives set the clock). Only a constant difference is removed: "
    "a clock that drifts shows in the distance of the ends.\n\n"
    "Latency is the shortest duration over the ranks, since the rank that comes last does not "
    "wait; the table has its median, and Total their sum. Algorithm GB/s is bytes / Total, 1 GB = "
    "10^9 bytes. Bus GB/s is that times 2(n-1)/n for allreduce, (n-1)/n for allgather, "
    "reducescatter and alltoall, and 1 for broadcast, reduce and send and receive. Skew is the "
    "last start - the first start (median, largest). Usual and Peak GB/s are the median and the "
    "95th percentile of the bus rates of the size class (group, operation, ranks, size by powers "
    "of two: another group may have other links) if it has four collectives or more; Slow counts "
    "those at less than half the usual rate. A link that is slow all the time is usual here: "
    "compare Bus GB/s with what the link can do.\n\n"
    "Waited adds up, for each rank, the last start in a collective - its own, if that is more "
    "than the uncertainty; waits count in their group only. In a broadcast, a reduce, a send or "
    "any other that can be left early, only starts before its own end count, and no rank is last "
    "if one has left before. A rank comes last if it alone does, by more than the uncertainty: a "
    "tie counts for no rank. Late adds up how much later it came than the rank before it, which "
    "is what being on time would save, and Others waited what all others waited then. The rank "
    "that is late comes last in at least 60 % of the collectives of one of its groups, or causes "
    "most of the waiting of one, by more than chance explains: what others wait there for it, less "
    "all other waiting, is more than two standard deviations of what a toss of a coin for each "
    "collective would make of that, which one collective alone never is. And itself it waits for "
    "others less than three quarters of the time that it is late: a rank that is late because it "
    "waited for a third rank does not count, nor does one that, since the group last left a "
    "collective together, spent so long in others that are not matched or not compared (a "
    "receive) that they may be why. Where nobody is late so, but most waiting is in one "
    "collective, Late says who came last to that, and for whom that rank had waited since all "
    "ranks of the collective last left one together, if that is three quarters of its lateness.\n\n"
    "Waiting, slow links and transfers: the time of collectives of all ranks. Waiting is the time "
    "before the last start; slow link is how much longer a slow transfer takes than a usual one "
    "of its class; with one rank alone that is waiting or a slow link. For collectives whose "
    "other ranks are missing (any of them), not matched or not compared, the rest is waiting or "
    "transfer; for all others it is transfer, which can only be hidden behind computation or made "
    "smaller.\n\n"
    "Collectives by what took their time: transfer if the skew is at most a third of the time "
    "from its first start to its last end, skew if at least two thirds, else mixed; inconclusive "
    "if the clocks fit no better than to a third of it, or there is no common clock (then its "
    "time is the longest duration).\n";

}  // namespace sonde::analysis
