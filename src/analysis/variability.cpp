#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/analysis.h"
#include "analysis/groups.h"
#include "analysis/quantile.h"
#include "analysis/queue_kernels.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using report::Kind;
using report::Value;

// The same kernel after the same kernels.
struct Contexts {
  std::vector<uint32_t> of_op;                     // by operation; kNoGroup: no kernel
  std::vector<std::vector<trace::NameId>> before;  // by context, the nearest last
};

Contexts find_contexts(const trace::Trace& trace, size_t depth) {
  Contexts contexts;
  contexts.of_op.assign(trace.ops.size(), kNoGroup);
  std::map<std::vector<trace::NameId>, uint32_t> numbers;  // the kernel itself is the last name
  for (const std::vector<size_t>& queue : kernels_of_queues(trace)) {
    std::vector<trace::NameId> names;
    for (const size_t op : queue) {
      if (names.size() > depth) names.erase(names.begin());
      names.push_back(trace.label(op));
      const auto [entry, is_new] =
          numbers.try_emplace(names, static_cast<uint32_t>(contexts.before.size()));
      if (is_new) contexts.before.emplace_back(names.begin(), names.end() - 1);
      contexts.of_op[op] = entry->second;
    }
  }
  return contexts;
}

// By how much durations grow from the first to the last call, in percent of their mean: the slope
// of the least-squares line. Unknown if all begin at once.
Value drift_of(const trace::Trace& trace, std::span<const uint32_t> rows) {
  const double first = static_cast<double>(trace.ops.start_ns[rows.front()]);
  double t = 0, d = 0;
  for (const uint32_t row : rows) {
    t += static_cast<double>(trace.ops.start_ns[row]) - first;
    d += static_cast<double>(trace.op_ns(row));
  }
  t /= static_cast<double>(rows.size());
  d /= static_cast<double>(rows.size());
  double square = 0, product = 0;
  for (const uint32_t row : rows) {
    const double away = static_cast<double>(trace.ops.start_ns[row]) - first - t;
    square += away * away;
    product += away * (static_cast<double>(trace.op_ns(row)) - d);
  }
  if (square == 0 || d == 0) return std::monostate{};
  const double span = static_cast<double>(trace.ops.start_ns[rows.back()]) - first;
  return product / square * span / d * 100;
}

Value ratio_of(int64_t part, int64_t whole) {
  if (whole == 0) return std::monostate{};
  return static_cast<double>(part) / static_cast<double>(whole);
}

void add_columns(report::Table& table) {
  table.add_column({"name", "Name", Kind::kName});
  table.add_column({"after", "After", Kind::kText});
  table.add_column({"calls", "Calls", Kind::kInteger});
  table.add_column({"excess_ns", "Excess", Kind::kTime});
  table.add_column({"p5_ns", "P5", Kind::kTime, 0, true});
  table.add_column({"median_ns", "Median", Kind::kTime, 0, true});
  table.add_column({"mean_ns", "Mean", Kind::kTime, 0, true});
  table.add_column({"p95_ns", "P95", Kind::kTime, 0, true});
  table.add_column({"p95_by_median", "P95/median", Kind::kReal, 2});
  table.add_column({"cv", "CV", Kind::kReal, 3});
  table.add_column({"drift_percentage", "Drift", Kind::kPercent, 1});
}

// What the calls took beyond what the quickest of them show to be possible.
std::vector<Value> row_of(const trace::Trace& trace, const Contexts& contexts, uint32_t context,
                          std::span<const uint32_t> rows) {
  std::vector<int64_t> durations;
  for (const uint32_t row : rows) durations.push_back(trace.op_ns(row));
  const int64_t golden_ns = quantile(durations, 5);
  const Spread spread = spread_of(durations);
  std::vector<std::string> after;
  for (const trace::NameId name : contexts.before[context]) after.push_back(trace.names[name]);
  const int64_t excess_ns = spread.total_ns - golden_ns * spread.calls;
  return {trace.names[trace.label(rows.front())],
          joined_names(after),
          spread.calls,
          excess_ns,
          golden_ns,
          spread.median_ns,
          spread.mean_ns(),
          spread.p95_ns,
          ratio_of(spread.p95_ns, spread.median_ns),
          spread.cv(),
          drift_of(trace, rows)};
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  SONDE_ASSIGN(const int64_t depth, parameters.count("context"));
  SONDE_ASSIGN(const int64_t least, parameters.count("count"));
  report::Report report = begin_report("variability", trace);
  const Contexts contexts =
      find_contexts(trace, static_cast<size_t>(std::clamp<int64_t>(depth, 0, 64)));
  const Groups groups = group_rows(contexts.of_op, contexts.before.size());
  report::Section section;
  section.key = "variability";
  section.empty_text =
      contexts.before.empty() ? "No kernels." : "No kernel comes that often in one context.";
  add_columns(section.table);
  for (size_t context = 0; context < groups.size(); ++context) {
    const auto rows = groups.of(context);
    if (static_cast<int64_t>(rows.size()) < std::max<int64_t>(least, 2)) continue;
    section.table.add_row(row_of(trace, contexts, static_cast<uint32_t>(context), rows));
  }
  std::stable_sort(section.table.rows.begin(), section.table.rows.end(),
                   [](const auto& a, const auto& b) {
                     return std::get<int64_t>(a[3]) > std::get<int64_t>(b[3]);
                   });
  report.sections.push_back(std::move(section));
  return report;
}

constexpr const char* kDefinition =
    "variability: how differently long the same kernel takes in the same place. A place is a kernel "
    "together with the --context kernels before it on its queue, so that one that is called for "
    "several purposes is not taken for one that varies. Shown are those that come at least --count "
    "times; names in After are shortened.\n"
    "\n"
    "P5 is the smallest duration that at least 5 % of the calls do not exceed: what is possible, "
    "without relying on one lucky call. Excess is Total - P5 x Calls: what the calls took beyond "
    "it. CV is the standard deviation of the sample / mean. Drift is the slope of the least-squares "
    "line through the durations over time, times the time from the first call to the last, in "
    "percent of the mean: positive if the kernel became slower (clocks that go down, memory that "
    "fragments).\n";

}  // namespace

const Analysis& variability_analysis() {
  static const Analysis kAnalysis{
      "variability",
      "Show kernels that take differently long in the same place",
      "How much time went beyond what a kernel needs when it is quick, how the durations spread, "
      "and whether they drift.",
      kDefinition,
      {{"sonde variability trace.rpd", "the kernels that lose most time first"},
       {"sonde variability trace.rpd --context 0 --sort drift_percentage",
        "kernels wherever they are called, those that become slower first"}},
      {{"context", "N", "how many kernels before it make up the place of a kernel", "2"},
       {"count", "N", "how often a kernel must come in one place", "10"}},
      [](const Parameters&) { return trace::Request{.ops = true}; },
      run};
  return kAnalysis;
}

}  // namespace sonde::analysis
