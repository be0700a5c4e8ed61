#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/quantile.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using report::Kind;

// The durations of each name's kernels, name after name in one array.
struct Grouped {
  std::vector<int64_t> durations;
  std::vector<size_t> begin;  // by NameId; begin[name + 1] is the end
};

bool is_kernel(const trace::Trace& trace, size_t op) {
  return trace.class_of(op) == trace::OpClass::kKernel;
}

Grouped group_durations(const trace::Trace& trace) {
  Grouped grouped;
  grouped.begin.assign(trace.names.size() + 1, 0);
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (is_kernel(trace, i)) ++grouped.begin[trace.label(i) + 1];
  }
  for (size_t n = 1; n < grouped.begin.size(); ++n) grouped.begin[n] += grouped.begin[n - 1];
  std::vector<size_t> next(grouped.begin.begin(), grouped.begin.end() - 1);
  grouped.durations.resize(grouped.begin.back());
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (is_kernel(trace, i)) grouped.durations[next[trace.label(i)]++] = trace.op_ns(i);
  }
  return grouped;
}

struct ShapeUse {
  uint32_t shape = 0;
  int64_t calls = 0;
  int64_t shapes = 0;  // how many different ones
};

// The launch geometry each name has used most; of equally frequent ones the first in the file.
std::vector<ShapeUse> usual_shapes(const trace::Trace& trace) {
  std::unordered_map<uint64_t, int64_t> calls;  // (name, shape)
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (!is_kernel(trace, i) || trace.ops.shape[i] == 0) continue;
    ++calls[uint64_t{trace.label(i)} << 32 | trace.ops.shape[i]];
  }
  std::vector<ShapeUse> usual(trace.names.size());
  for (const auto& [key, count] : calls) {
    ShapeUse& use = usual[key >> 32];
    const auto shape = static_cast<uint32_t>(key);
    ++use.shapes;
    if (count > use.calls || (count == use.calls && shape < use.shape)) {
      use.calls = count;
      use.shape = shape;
    }
  }
  return usual;
}

report::Value extent_text(const ShapeUse& use, const int64_t (&extent)[3]) {
  if (use.shape == 0 || extent[0] == 0) return std::monostate{};
  std::string text = fmt::format("{}", extent[0]);
  for (int i = 1; i < 3; ++i) {
    if (extent[i] > 1 || (i == 1 && extent[2] > 1)) text += fmt::format("x{}", extent[i]);
  }
  return text;
}

void add_columns(report::Table& table) {
  table.add_column({"name", "Name", Kind::kName});
  table.add_column({"calls", "Calls", Kind::kInteger});
  table.add_column({"total_ns", "Total", Kind::kTime, 0, true});
  table.add_column({"percentage", "Share", Kind::kPercent, 2});
  table.add_column({"mean_ns", "Mean", Kind::kTime, 0, true});
  table.add_column({"median_ns", "Median", Kind::kTime, 0, true});
  table.add_column({"p95_ns", "P95", Kind::kTime, 0, true});
  table.add_column({"min_ns", "Min", Kind::kTime, 0, true});
  table.add_column({"max_ns", "Max", Kind::kTime, 0, true});
  table.add_column({"grid", "Grid", Kind::kText});
  table.add_column({"group", "Group", Kind::kText});
  table.add_column({"shapes", "Shapes", Kind::kInteger});
}

Result<report::Report> run(const trace::Trace& trace, const Parameters&) {
  report::Report report = begin_report("kernels", trace);
  report::Section section;
  section.key = "kernels";
  section.empty_text = "No kernels.";
  add_columns(section.table);
  const auto totals = op_totals(trace, [&](size_t op) { return is_kernel(trace, op); });
  const auto usual = usual_shapes(trace);
  Grouped grouped = group_durations(trace);
  const int64_t whole = sum_ns(totals);
  for (const Total& total : totals) {
    const std::span<int64_t> durations(grouped.durations.data() + grouped.begin[total.name],
                                       grouped.begin[total.name + 1] - grouped.begin[total.name]);
    const ShapeUse& use = usual[total.name];
    const trace::LaunchShape& shape = trace.shapes[use.shape];
    section.table.add_row(
        {trace.names[total.name], total.calls, total.total_ns, percent_of(total.total_ns, whole),
         total.mean_ns(), median(durations), quantile(durations, 95), total.min_ns, total.max_ns,
         extent_text(use, shape.grid), extent_text(use, shape.group), use.shapes});
  }
  report.sections.push_back(std::move(section));
  return report;
}

constexpr const char* kDefinition =
    "kernels: one row for each kernel (as in ktop), with the spread of its durations. Share is the "
    "total in percent of the time of all kernels. Mean is the total / calls, rounded down. Median "
    "is the middle duration, or the mean of the two middle ones rounded down. P95 is the smallest "
    "duration that at least 95 % of the calls do not exceed.\n"
    "\n"
    "Grid and Group are the launch geometry that was used most often (the first such in the file "
    "if several were), Shapes is how many different ones there were; unknown where the file does "
    "not say. In files that Sonde recorded Grid counts work items; other tools' files hold what "
    "their recorder stored, which for HIP launches is blocks. Kernels of graphs have no geometry "
    "in RPD.\n";

}  // namespace

const Analysis& kernels_analysis() {
  static const Analysis kAnalysis{
      "kernels",
      "Show how the durations of each kernel spread",
      "Count, total, mean, median, 95th percentile, extremes and the usual launch geometry of each "
      "kernel.",
      kDefinition,
      {{"sonde kernels trace.rpd", "the kernels with the largest total first"},
       {"sonde kernels trace.rpd --sort p95", "the ones that are slow now and then first"}},
      {},
      [](const Parameters&) { return trace::Request{.ops = true, .op_shapes = true}; },
      run};
  return kAnalysis;
}

}  // namespace sonde::analysis
