#include <fmt/format.h>

#include <unordered_map>

#include "analysis/analysis.h"
#include "analysis/operations/op_groups.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;

struct ShapeUse {
  uint32_t shape = 0;
  int64_t calls = 0;
  int64_t shapes = 0;  // how many different ones
};

// The launch geometry each group has used most; of equally frequent ones the first in time.
std::vector<ShapeUse> usual_shapes(const trace::Trace& trace, const OpGroups& groups) {
  std::unordered_map<uint64_t, int64_t> calls;  // (group, shape)
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (groups.group_of[i] == kNoGroup || trace.ops.shape[i] == 0) continue;
    ++calls[uint64_t{groups.group_of[i]} << 32 | trace.ops.shape[i]];
  }
  std::vector<ShapeUse> usual(groups.groups.size());
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

void add_columns(const OpGroups& groups, bool with_shapes, report::Table& table) {
  table.add_columns(groups.columns);
  table.add_columns({integer("calls", "Calls"), time("total_ns", "Total"),
                     percent("percentage", "Share"), percent("wall_percentage", "Wall"),
                     time("busy_ns", "Busy"), time("mean_ns", "Mean"), time("median_ns", "Median"),
                     time("p95_ns", "P95"), time("min_ns", "Min"), time("max_ns", "Max"),
                     real("cv", "CV")});
  if (!with_shapes) return;
  table.add_columns({text("grid", "Grid"), text("group", "Group"), integer("shapes", "Shapes")});
}

Result<report::Report> run(const trace::Trace& trace, const Parameters& parameters) {
  report::Report report = begin_report("kernels", trace);
  const bool all = parameters.text("of") == "all";
  const std::string& by = parameters.text("by");
  const OpGroups groups = group_ops(trace, {by}, all ? all_ops(trace) : kernels_of(trace));
  const std::vector<OpSpread> spreads = spread_of(trace, groups);
  const bool with_shapes = by == "name" || by == "base";
  std::vector<ShapeUse> usual;
  if (with_shapes) usual = usual_shapes(trace, groups);
  report::Section section{
      .key = "kernels",
      .empty_text = all || trace.ops.size() == 0 ? no_op_times(trace) : "No kernels."};
  add_columns(groups, with_shapes, section.table);
  const int64_t whole = groups.total_ns();
  const int64_t wall = wall_ns(trace);
  for (size_t group = 0; group < spreads.size(); ++group) {
    const Spread& spread = spreads[group].durations;
    std::vector<report::Value> row = groups.groups[group].key;
    row.insert(row.end(),
               {spread.calls, spread.total_ns, percent_of(spread.total_ns, whole),
                percent_of(spread.total_ns, wall), spreads[group].busy_ns, spread.mean_ns(),
                spread.median_ns, spread.p95_ns, spread.min_ns, spread.max_ns, spread.cv()});
    if (with_shapes) {
      const ShapeUse& use = usual[group];
      const trace::LaunchShape& shape = trace.shapes[use.shape];
      row.insert(row.end(),
                 {extent_text(use, shape.grid), extent_text(use, shape.group), use.shapes});
    }
    section.table.add_row(std::move(row));
  }
  report.sections.push_back(std::move(section));
  return report;
}

trace::Request needs(const Parameters& parameters) {
  trace::Request request;
  const std::string& by = parameters.text("by");
  add_needs_of_group(by, request);
  request.op_shapes |= by == "name" || by == "base";
  return request;
}

constexpr const char* kDefinition =
    "kernels: one row for each kernel (as in ktop), with the distribution of its durations; --by "
    "groups them otherwise, --of all includes copies and all other operations. Share is the total "
    "in percent of the total of all rows. Wall is the total in percent of the time from the first "
    "start to the last end of an operation, or of the window; kernels that overlap can make it "
    "exceed 100. Busy is the length of the union of their times on each GPU, so time in which "
    "several run counts once. Mean is the total / calls, rounded down. Median is the middle "
    "duration, or the mean of the two middle ones rounded down. P95 is the smallest duration that "
    "at least 95 % of the calls do not exceed. CV is the standard deviation (n - 1) / the "
    "mean.\n\n"
    "--by base groups names without template arguments and parameters; type is the kind of "
    "operation in the file; stream a GPU's queue; rank the rank of the process that launched the "
    "kernel; call the launching call; operator the innermost operator around the launching call "
    "(as in sonde operators), so that each kernel counts once; module the innermost nn.Module "
    "frame; marker the innermost range of the program; grid the launch geometry of each kernel. "
    "With --of all, size is the class of size that copies counts a copy in, and memory the memory "
    "on both sides of it.\n\n"
    "Grid and Group are the launch geometry that was used most often (the first such if several "
    "were), Shapes is how many different ones there were; unknown where the file does not say. "
    "Grid and Group count work items (threads), whichever tool wrote the file. Kernels of graphs "
    "have no geometry in RPD.\n";

}  // namespace

Analysis kernels_analysis() {
  return {
      "kernels",
      "Show how long each kernel takes: total, mean, median, 95th percentile",
      "Shows count, total, mean, median, 95th percentile, extremes and the usual launch geometry "
      "of each kernel, or of kernels by operator, module, marker, stream and so on.",
      kDefinition,
      {{"sonde kernels trace.rpd", "most expensive kernels first"},
       {"sonde kernels trace.rpd --sort p95", "occasionally slow kernels first"},
       {"sonde kernels trace.json --by operator", "by the operator that launched them"}},
      {{"by", "WHAT", "what a row is", "name", op_group_names()},
       {"of", "WHAT", "kernels, or all operations", "kernels", {"kernels", "all"}}},
      needs,
      run,
      true};
}

}  // namespace sonde::analysis
