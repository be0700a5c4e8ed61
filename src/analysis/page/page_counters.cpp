#include "analysis/page/page_counters.h"

#include <algorithm>

#include "metrics/roofline.h"
#include "metrics/sol/report.h"
#include "metrics/workload/trace.h"

namespace sonde::analysis {
namespace {

using report::Section;

bool has_figures(const Section& section) {
  const auto is_known = [](const report::Value& value) {
    return std::holds_alternative<double>(value);
  };
  return std::any_of(section.table.rows.begin(), section.table.rows.end(), [&](const auto& row) {
    return std::any_of(row.begin(), row.end(), is_known);
  });
}

}  // namespace

std::vector<Section> counter_sections(const trace::Trace& trace) {
  if (trace.op_counters.size() == 0) return {};
  const auto workload = metrics::workload_of(trace, "");
  if (!workload.ok()) return {};
  const auto definitions = metrics::definitions_for(workload->gpu);
  if (!definitions.ok()) return {};
  metrics::SolOptions options;
  options.with_pictures = true;
  const auto tables = metrics::chosen_tables(*definitions, options);
  if (!tables.ok()) return {};
  std::vector<Section> sections;
  report::Report sol = metrics::sol_report(*definitions, *workload, *tables, options);
  for (Section& section : sol.sections) {
    // The page has a table of kernels with all times of theirs.
    if (section.key == "kernels" || !has_figures(section)) continue;
    // The chart says it.
    if (!section.diagrams.empty()) section.table = {};
    sections.push_back(std::move(section));
  }
  metrics::RooflineOptions of_roofline;
  of_roofline.title = "Roofline";
  const auto roofline = metrics::roofline_of(*definitions, *workload, of_roofline);
  if (!roofline.ok()) return sections;
  report::Report picture = metrics::roofline_report(*roofline, *workload, of_roofline);
  if (has_figures(picture.sections.front()))
    sections.push_back(std::move(picture.sections.front()));
  return sections;
}

}  // namespace sonde::analysis
