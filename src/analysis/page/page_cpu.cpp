#include "analysis/page/page_cpu.h"

#include <algorithm>

#include "analysis/stacks/sample_totals.h"
#include "analysis/totals.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using report::Kind;
using report::Section;

// Lines are not function names, which text would shorten.
Section samples_section(const char* key, const char* title, Kind kind,
                        const std::vector<SampleTotal>& totals, int64_t whole_ns) {
  Section section{.key = key, .title = title};
  section.table.add_columns({{"name", "Name", kind},
                             integer("samples", "Samples"),
                             time("cpu_ns", "CPU"),
                             percent("percentage", "Share")});
  for (const SampleTotal& total : totals) {
    section.table.add_row(
        {total.name, total.samples, total.cpu_ns, percent_of(total.cpu_ns, whole_ns)});
  }
  section.remarks.push_back(
      "Share is of the CPU time of all samples. sonde stacks shows who calls whom.");
  return section;
}

Section markers_section(const trace::Trace& trace) {
  Section section{.key = "markers", .title = "Ranges that the program marked"};
  section.table.add_columns({name("name", "Name"), integer("count", "Count"),
                             time("total_ns", "Total"), time("mean_ns", "Mean"),
                             time("max_ns", "Max")});
  std::vector<Total> by_name(trace.names.size());
  for (size_t i = 0; i < trace.apis.size(); ++i) {
    const bool is_range = trace.apis.kind[i] == trace::ApiKind::kMarker && trace.api_ns(i) > 0;
    if (is_range) by_name[trace.apis.label[i]].add(trace.api_ns(i));
  }
  std::vector<trace::NameId> listed;
  for (size_t name = 0; name < by_name.size(); ++name) {
    if (by_name[name].calls != 0) listed.push_back(static_cast<trace::NameId>(name));
  }
  std::sort(listed.begin(), listed.end(), [&](trace::NameId a, trace::NameId b) {
    if (by_name[a].total_ns != by_name[b].total_ns)
      return by_name[a].total_ns > by_name[b].total_ns;
    return trace.names[a] < trace.names[b];
  });
  for (const trace::NameId name : listed) {
    const Total& total = by_name[name];
    section.table.add_row(
        {trace.names[name], total.calls, total.total_ns, total.mean_ns(), total.max_ns});
  }
  return section;
}

}  // namespace

std::vector<Section> cpu_sections(const trace::Trace& trace) {
  const SampleTotals totals = sample_totals(trace);
  std::vector<Section> sections = {
      samples_section("functions", "Functions by CPU time", Kind::kName, totals.functions,
                      totals.cpu_ns),
      samples_section("lines", "The user's own Python lines by CPU time", Kind::kText, totals.lines,
                      totals.cpu_ns),
      markers_section(trace)};
  std::erase_if(sections, [](const Section& section) { return section.table.rows.empty(); });
  return sections;
}

}  // namespace sonde::analysis
