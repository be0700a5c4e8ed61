#include "analysis/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/quantile.h"
#include "analysis/totals.h"
#include "base/strings.h"

namespace sonde::analysis {
namespace {

using report::Kind;
using report::Value;

// Instances of one operation with one size in one group.
struct SameKind {
  std::string group, op;
  int64_t bytes = -1, group_size = 0;
  friend auto operator<=>(const SameKind&, const SameKind&) = default;
};

struct Answer {
  Collectives all;
  Matched matched;
  const Collective& first(const Instance& instance) const {
    return all.list[instance.parts.front()];
  }
  int64_t group_size(const Instance& instance) const {
    const int64_t told = first(instance).group_size;
    return told != 0 ? told : static_cast<int64_t>(instance.parts.size());
  }
};

Value bandwidth(int64_t bytes, int64_t time_ns, double factor = 1) {
  if (bytes < 0 || time_ns <= 0) return std::monostate{};
  return static_cast<double>(bytes) * factor / static_cast<double>(time_ns);  // GB/s
}

// Of one instance. Time that is the arrival of the last one is not that of the transfer.
const char* class_of(const Instance& instance, int64_t residual_ns) {
  if (instance.parts.size() < 2) return "one rank";
  if (residual_ns * 3 >= instance.span_ns) return "inconclusive";
  if (instance.skew_ns * 3 >= instance.span_ns * 2) return "skew";
  if (instance.skew_ns * 3 <= instance.span_ns) return "transfer";
  return "mixed";
}

report::Section kinds_section(const Answer& answer) {
  report::Section section;
  section.key = "collectives";
  section.empty_text =
      answer.all.list.empty()
          ? "No kernel of a communication library, and no call of gloo, MPI or UCC."
          : "No collectives that all ranks have.";
  report::Table& table = section.table;
  table.add_column({"group", "Group", Kind::kText});
  table.add_column({"op", "Operation", Kind::kName});
  table.add_column({"message_bytes", "Message", Kind::kBytes});
  table.add_column({"ranks", "Ranks", Kind::kInteger});
  table.add_column({"count", "Count", Kind::kInteger});
  table.add_column({"total_ns", "Total", Kind::kTime});
  table.add_column({"latency_ns", "Latency", Kind::kTime});
  table.add_column({"algorithm_gb_per_s", "Algorithm GB/s", Kind::kReal, 3});
  table.add_column({"bus_gb_per_s", "Bus GB/s", Kind::kReal, 3});
  table.add_column({"skew_ns", "Skew", Kind::kTime});
  table.add_column({"max_skew_ns", "Max skew", Kind::kTime});
  std::map<SameKind, std::vector<const Instance*>> kinds;
  for (const Instance& instance : answer.matched.instances) {
    const Collective& first = answer.first(instance);
    kinds[{first.group, first.op, first.bytes, answer.group_size(instance)}].push_back(&instance);
  }
  for (const auto& [kind, instances] : kinds) {
    std::vector<int64_t> latencies, skews;
    int64_t total_ns = 0;
    for (const Instance* instance : instances) {
      latencies.push_back(instance->latency_ns);
      if (instance->parts.size() > 1) skews.push_back(instance->skew_ns);
      total_ns += instance->latency_ns;
    }
    const auto count = static_cast<int64_t>(instances.size());
    const auto factor = bus_factor(kind.op, kind.group_size);
    const int64_t bytes = kind.bytes < 0 ? -1 : kind.bytes * count;
    const Value unknown = std::monostate{};
    table.add_row({kind.group, kind.op, kind.bytes < 0 ? unknown : Value(kind.bytes),
                   kind.group_size, count, total_ns, median(latencies), bandwidth(bytes, total_ns),
                   factor ? bandwidth(bytes, total_ns, *factor) : unknown,
                   skews.empty() ? unknown : Value(median(skews)),
                   skews.empty() ? unknown : Value(*std::max_element(skews.begin(), skews.end()))});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[5]) > std::get<int64_t>(b[5]);
  });
  return section;
}

report::Section ranks_section(const Answer& answer, std::span<const trace::Trace> traces) {
  report::Section section;
  section.key = "ranks";
  section.title = "Who waited for whom";
  report::Table& table = section.table;
  table.add_column({"rank", "Rank", Kind::kId});
  table.add_column({"collectives", "Collectives", Kind::kInteger});
  table.add_column({"total_ns", "Total", Kind::kTime});
  table.add_column({"waited_ns", "Waited", Kind::kTime});
  table.add_column({"last", "Came last", Kind::kInteger});
  table.add_column({"clock_ahead_ns", "Clock ahead", Kind::kTime});
  table.add_column({"file", "File", Kind::kText});
  struct Sum {
    int64_t count = 0, total_ns = 0, waited_ns = 0, last = 0;
    bool matched = false;
  };
  std::vector<Sum> sums(answer.all.members.size());
  for (const Collective& one : answer.all.list) {
    ++sums[one.member].count;
    sums[one.member].total_ns += one.duration_ns();
  }
  const auto start_of = [&](size_t part) {
    const Collective& one = answer.all.list[part];
    return one.start_ns - answer.matched.offset_ns[one.member];
  };
  for (const Instance& instance : answer.matched.instances) {
    if (instance.parts.size() < 2) continue;
    int64_t latest = std::numeric_limits<int64_t>::min();
    for (const size_t part : instance.parts) latest = std::max(latest, start_of(part));
    for (const size_t part : instance.parts) {
      Sum& sum = sums[answer.all.list[part].member];
      sum.waited_ns += latest - start_of(part);
      sum.matched = true;
    }
    ++sums[instance.last].last;
  }
  const Value unknown = std::monostate{};
  for (size_t i = 0; i < sums.size(); ++i) {
    const Sum& sum = sums[i];
    const Member& member = answer.all.members[i];
    table.add_row(
        {member.rank, sum.count, sum.total_ns, sum.matched ? Value(sum.waited_ns) : unknown,
         sum.matched ? Value(sum.last) : unknown,
         sum.matched ? Value(answer.matched.offset_ns[i]) : unknown, traces[member.file].path});
  }
  return section;
}

report::Section classes_section(const Answer& answer) {
  report::Section section;
  section.key = "classes";
  section.title = "What the time of collectives is";
  report::Table& table = section.table;
  table.add_column({"class", "Class", Kind::kText});
  table.add_column({"collectives", "Collectives", Kind::kInteger});
  table.add_column({"time_ns", "Begin to end", Kind::kTime});
  table.add_column({"skew_ns", "Skew", Kind::kTime});
  for (const char* name : {"transfer", "mixed", "skew", "inconclusive"}) {
    int64_t count = 0, span_ns = 0, skew_ns = 0;
    for (const Instance& instance : answer.matched.instances) {
      if (std::string_view(class_of(instance, answer.matched.residual_ns)) != name) continue;
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
  if (answer.all.members.size() == 1) {
    report.notes.push_back(
        "one rank only: latency includes the wait for the others, and skew is not known");
  } else if (answer.all.members.size() > 1 && !answer.matched.instances.empty()) {
    report.notes.push_back(fmt::format("ends of collectives lie {} apart on the common clock",
                                       format_duration(answer.matched.residual_ns)));
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
  report::Report report;
  report.name = "collectives";
  for (const trace::Trace& trace : traces) {
    report.subject += (report.subject.empty() ? "" : ", ") + trace.path;
    report.warnings.insert(report.warnings.end(), trace.warnings.begin(), trace.warnings.end());
  }
  report.sections.push_back(kinds_section(answer));
  if (!answer.all.list.empty()) report.sections.push_back(ranks_section(answer, traces));
  if (answer.all.members.size() > 1 && !answer.matched.instances.empty()) {
    report.sections.push_back(classes_section(answer));
  }
  add_notes(answer, report);
  return report;
}

const char* const kCollectivesDefinition =
    "collectives: the kernels of communication libraries (NCCL, RCCL, MSCCL++, NVSHMEM ...; where a "
    "trace has none, calls of gloo, MPI and UCC), by communicator, operation and size of the "
    "message. Group, size and number of ranks are those of the record_param_comms around the "
    "launch, or the size that of the call of RCCL; unknown where there is none. Message is what a rank puts in, for allgather what it "
    "gets out: elements x bytes of their type.\n"
    "\n"
    "Ranks are the processes of a file, or several files given together. Their collectives are "
    "matched by group, number and operation; where the file does not number them, by order, and "
    "only if all ranks of the group have the same operations with the same sizes; else nothing is "
    "matched, and a note says where they differ. Ends of a collective coincide, so the median "
    "distance of ends is what a rank's clock is ahead of the first one's (Clock ahead); it is taken "
    "out, and a note says how far apart ends lie then.\n"
    "\n"
    "Latency is the shortest duration over the ranks, for who comes last does not wait; the table "
    "has its median, and Total their sum. Algorithm GB/s is bytes / Total, 1 GB = 10^9 bytes. Bus "
    "GB/s is that times 2(n-1)/n for allreduce, (n-1)/n for allgather, reducescatter and alltoall, "
    "and 1 for broadcast, reduce and send and receive. Skew is the last begin - the first begin "
    "(median, largest).\n"
    "\n"
    "Waited adds up, for each rank, the last begin - its own; the straggler is who waited least and "
    "came last most often. A collective is transfer if its skew is at most a third of the time from "
    "its first begin to its last end, skew if at least two thirds, else mixed; inconclusive if the "
    "clocks fit no better than to a third of it.\n";

}  // namespace sonde::analysis
