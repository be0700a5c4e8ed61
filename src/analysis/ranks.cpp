#include "analysis/ranks.h"

#include <algorithm>

#include "analysis/gpu_time.h"
#include "analysis/quantile.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using report::Kind;
using report::Value;
using trace::Category;

// A GPU of a rank.
struct Member {
  Value rank;
  int64_t gpu = 0;
  int64_t ops = 0;
  Breakdown time;
  std::string file;
};

std::vector<Member> find_members(std::span<const trace::Trace> traces) {
  std::vector<Member> members;
  for (const trace::Trace& trace : traces) {
    std::map<int32_t, int64_t> ops;
    for (const int32_t gpu : trace.ops.gpu) ++ops[gpu];
    for (const auto& [id, gpu] : gpu_times(trace)) {
      members.push_back({rank_value(gpu), id, ops[id],
                         breakdown_of(trace::sweep(gpu.sets), gpu.extent), trace.path});
    }
  }
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return a.rank < b.rank;  // unknown ones first
  });
  return members;
}

struct Metric {
  const char* key;
  const char* title;
  int64_t (*of)(const Member& member);
};

int64_t exposed(const Member& member, Category category) {
  return member.time.exposed_ns[static_cast<size_t>(category)];
}

constexpr Metric kMetrics[] = {
    {"total_ns", "Total", [](const Member& m) { return m.time.total_ns; }},
    {"compute_ns", "Compute", [](const Member& m) { return exposed(m, Category::kCompute); }},
    {"exposed_communication_ns", "Exposed comm",
     [](const Member& m) { return exposed(m, Category::kCommunication); }},
    {"exposed_copy_ns", "Exposed copy",
     [](const Member& m) { return exposed(m, Category::kCopy); }},
    {"exposed_memset_ns", "Exposed memset",
     [](const Member& m) { return exposed(m, Category::kMemset); }},
    {"other_ns", "Other", [](const Member& m) { return exposed(m, Category::kOther); }},
    {"idle_ns", "Idle", [](const Member& m) { return m.time.idle_ns; }},
};

report::Section members_section(const std::vector<Member>& members) {
  report::Section section;
  section.key = "ranks";
  section.empty_text = "No operations of a device.";
  report::Table& table = section.table;
  table.add_column({"rank", "Rank", Kind::kId});
  table.add_column({"gpu_id", "GPU", Kind::kId});
  table.add_column({"ops", "Ops", Kind::kInteger});
  for (const Metric& metric : kMetrics) table.add_column({metric.key, metric.title, Kind::kTime});
  table.add_column({"file", "File", Kind::kText});
  for (const Member& member : members) {
    std::vector<Value> row = {member.rank, member.gpu, member.ops};
    for (const Metric& metric : kMetrics) row.emplace_back(metric.of(member));
    row.emplace_back(member.file);
    table.add_row(std::move(row));
  }
  return section;
}

report::Section spread_section(const std::vector<Member>& members) {
  report::Section section;
  section.key = "spread";
  section.title = "Across ranks";
  report::Table& table = section.table;
  table.add_column({"what", "What", Kind::kText});
  table.add_column({"min_ns", "Min", Kind::kTime});
  table.add_column({"median_ns", "Median", Kind::kTime});
  table.add_column({"max_ns", "Max", Kind::kTime});
  table.add_column({"spread_percentage", "Spread", Kind::kPercent, 1});
  table.add_column({"min_rank", "Min of rank", Kind::kId});
  table.add_column({"max_rank", "Max of rank", Kind::kId});
  for (const Metric& metric : kMetrics) {
    std::vector<int64_t> values;
    for (const Member& member : members) values.push_back(metric.of(member));
    const auto min = std::min_element(values.begin(), values.end());
    const auto max = std::max_element(values.begin(), values.end());
    if (*max == 0) continue;
    const auto rank_of = [&](auto value) {
      return members[static_cast<size_t>(value - values.begin())].rank;
    };
    const Value min_rank = rank_of(min), max_rank = rank_of(max);
    const int64_t min_ns = *min, max_ns = *max;
    const int64_t median_ns = median(values);
    table.add_row({std::string(metric.title), min_ns, median_ns, max_ns,
                   percent_of(max_ns - min_ns, median_ns), min_rank, max_rank});
  }
  return section;
}

}  // namespace

trace::Request ranks_needs() { return {.ops = true, .links = true}; }

report::Report ranks_report(std::span<const trace::Trace> traces) {
  report::Report report;
  report.name = "ranks";
  for (const trace::Trace& trace : traces) {
    report.subject += (report.subject.empty() ? "" : ", ") + trace.path;
    report.warnings.insert(report.warnings.end(), trace.warnings.begin(), trace.warnings.end());
  }
  for (const trace::Trace& trace : traces) {
    if (trace.ops.size() == 0 || has_op_times(trace)) continue;
    report.notes.push_back(trace.path + " has no times of operations: zeros are not measured");
  }
  const std::vector<Member> members = find_members(traces);
  report.sections.push_back(members_section(members));
  if (members.size() > 1) {
    report.sections.push_back(spread_section(members));
  } else if (members.size() == 1) {
    report.notes.push_back("one rank only: give the traces of all ranks to compare them");
  }
  return report;
}

const char* const kRanksDefinition =
    "ranks: what each GPU of each rank did, side by side; ranks are processes of one file, or "
    "several files given together. A rank is what the file says it is, and unknown where it does "
    "not. The parts are those of sonde breakdown (time of several classes counts as the first of "
    "compute, communication, copy, memset, other) and add up to Total, which is the window, or the "
    "time from the first begin to the last end of the operations of that GPU.\n"
    "\n"
    "Across ranks: Spread is (Max - Min) / Median. Little compute and much exposed communication on "
    "one rank, and the other way round on another, means that the one waits for the other: sonde "
    "collectives says for whom.\n";

}  // namespace sonde::analysis
