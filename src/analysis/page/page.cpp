#include "analysis/page/page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "analysis/page/page_counters.h"
#include "analysis/page/page_cpu.h"
#include "analysis/page/strip.h"
#include "analysis/stacks/sample_totals.h"
#include "analysis/time/gpu_time.h"
#include "analysis/totals.h"
#include "report/names.h"
#include "report/sort.h"

namespace sonde::analysis {
namespace {

using report::Chart;
using report::Section;
using report::Table;

constexpr size_t kMostBars = 12;
constexpr size_t kLabelWidth = 34;  // what a chart has room for
constexpr size_t kMostFindings = 5;

// The analyses of the page in its order, and what their figures are drawn as.
struct Bar {
  const char* key;
  const char* name;
};
struct Part {
  const char* analysis;
  const char* title;
  std::vector<const char*> labels;  // columns that name a bar
  std::vector<Bar> bars;            // columns that are stacked in it; none: no chart
  bool is_of_cpu = false;           // said of traces without device operations, too
};

const std::vector<Part>& parts() {
  static const std::vector<Part> kParts = {
      {"breakdown",
       "Where the GPU time went",
       {"gpu_id"},
       {{"compute_ns", "compute"},
        {"exposed_communication_ns", "exposed communication"},
        {"exposed_copy_ns", "exposed copy"},
        {"exposed_memset_ns", "exposed memset"},
        {"other_ns", "other"},
        {"idle_ns", "idle"}}},
      {"idle", "Why the GPUs were idle", {"gpu_id", "reason"}, {{"total_ns", "idle"}}},
      {"steps", "Steps", {}, {}},
      {"kernels", "Kernels", {"name"}, {{"total_ns", "time"}}},
      {"operators", "Operators", {}, {}, true},
      {"copies", "Copies", {}, {}},
      {"launches", "Launches", {}, {}},
      {"memory", "Memory", {}, {}, true}};
  return kParts;
}

// The chart of the sections of page_cpu.h; columns that a section lacks are left out.
const Part& cpu_part() {
  static const Part kPart = {
      "", "", {"name"}, {{"cpu_ns", "CPU time"}, {"total_ns", "time"}}, true};
  return kPart;
}

std::string label_text(const Table& table, size_t row, const std::vector<const char*>& keys) {
  std::string label;
  for (const std::string key : keys) {
    const int column = report::find_column(table, key);
    if (column < 0) continue;
    const Value& value = table.rows[row][static_cast<size_t>(column)];
    if (!label.empty()) label += ", ";
    if (const auto* number = std::get_if<int64_t>(&value)) {
      label += (key == "gpu_id" ? "GPU " : "") + std::to_string(*number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      label += *text;
    }
  }
  return label;
}

Chart chart_of(const Table& table, const Part& part, const std::string& key) {
  Chart chart;
  chart.key = key;
  chart.x = {"Time", Kind::kTime};
  const size_t rows = std::min(table.rows.size(), kMostBars);
  for (size_t row = 0; row < rows; ++row) {
    chart.rows.push_back(label_text(table, row, part.labels));
  }
  const int named = part.labels.empty() ? -1 : report::find_column(table, part.labels.front());
  const bool is_name = named < 0 || table.columns[static_cast<size_t>(named)].kind != Kind::kText;
  if (is_name) chart.rows = report::short_names(chart.rows);
  chart.rows = report::cut_names(chart.rows, kLabelWidth);
  for (const Bar& bar : part.bars) {
    const int column = report::find_column(table, bar.key);
    if (column < 0) continue;
    report::Series series;
    series.name = bar.name;
    for (size_t row = 0; row < rows; ++row) {
      const auto* value = std::get_if<int64_t>(&table.rows[row][static_cast<size_t>(column)]);
      series.values.push_back(value == nullptr ? 0 : static_cast<double>(*value));
    }
    const bool any = std::any_of(series.values.begin(), series.values.end(),
                                 [](double value) { return value != 0; });
    if (any) chart.series.push_back(std::move(series));
  }
  return chart;
}

Section facts_of(const trace::Trace& trace) {
  Section section{.key = "trace", .title = "What ran"};
  int64_t busy_ns = 0;
  int64_t wall_ns = 0;
  std::set<int64_t> ranks;
  const auto gpus = gpu_times(trace);
  for (const auto& [id, gpu] : gpus) {
    busy_ns += analysis::busy_ns(gpu);
    wall_ns += gpu.extent.end_ns - gpu.extent.start_ns;
    if (gpu.rank) ranks.insert(*gpu.rank);
  }
  const auto count = [&](const char* key, const char* title, size_t number) {
    if (number == 0) return;  // the sections below say what is missing
    section.add_fact({key, title, Kind::kInteger, static_cast<int64_t>(number)});
  };
  std::set<std::string> devices;
  for (const trace::Device& device : trace.devices) {
    if (!device.name.empty()) devices.insert(device.name);
  }
  if (!devices.empty()) {
    section.add_fact(
        {"devices", "Device", Kind::kText, fmt::format("{}", fmt::join(devices, ", "))});
  }
  count("gpus", "GPUs", gpus.size());
  count("ranks", "Ranks", ranks.size());
  count("operations", "Operations", trace.ops.size());
  count("calls", "Calls and markers", trace.apis.size());
  const SampleTotals samples = sample_totals(trace);
  count("samples", "CPU samples", static_cast<size_t>(samples.samples));
  if (samples.cpu_ns != 0) {
    section.add_fact({"sampled_ns", "CPU time of the samples", Kind::kTime, samples.cpu_ns});
  }
  if (gpus.empty() || !has_op_times(trace)) return section;
  section.add_fact({"wall_ns", "GPU time, first operation to last", Kind::kTime, wall_ns});
  section.add_fact({"busy_percentage", "Busy", Kind::kPercent, percent_of(busy_ns, wall_ns)});
  report::Chart strip = strip_of(gpus);
  if (!strip.series.empty()) section.charts.push_back(std::move(strip));
  return section;
}

// Columns without any value only make a page wider.
void drop_unknown_columns(Table& table) {
  for (size_t column = table.columns.size(); column-- > 0;) {
    const bool is_unknown =
        !table.rows.empty() &&
        std::all_of(table.rows.begin(), table.rows.end(), [&](const std::vector<Value>& row) {
          return std::holds_alternative<std::monostate>(row[column]);
        });
    if (!is_unknown) continue;
    const auto place = static_cast<std::ptrdiff_t>(column);
    table.columns.erase(table.columns.begin() + place);
    for (auto& row : table.rows) row.erase(row.begin() + place);
  }
}

void add_section(Section section, const Part& part, size_t rows, report::Report& page) {
  if (!part.bars.empty() && !section.table.rows.empty()) {
    section.charts.push_back(chart_of(section.table, part, section.key));
  }
  drop_unknown_columns(section.table);
  report::limit_table(section.table, rows);
  page.sections.push_back(std::move(section));
}

void add_notes(std::vector<std::string> notes, report::Report& page) {
  for (std::string& note : notes) {
    if (std::find(page.notes.begin(), page.notes.end(), note) != page.notes.end()) continue;
    page.notes.push_back(std::move(note));
  }
}

Section what_stands_out(trace::Trace trace, double least_percentage) {
  const Pace pace = leave_out_warm_up(trace);
  std::vector<Finding> findings = findings_of({&trace, 1}, least_percentage);
  const size_t left_out = findings.size() - std::min(findings.size(), kMostFindings);
  findings.resize(findings.size() - left_out);
  Section section = findings_report({&trace, 1}, {&pace, 1}, findings).sections.front();
  section.title = "What stands out";
  if (left_out != 0) {
    section.remarks.push_back(std::to_string(left_out) +
                              (left_out == 1 ? " more finding saves" : " more findings save") +
                              " less: sonde check lists them all.");
  }
  return section;
}

}  // namespace

trace::Request page_needs() {
  trace::Request request = findings_needs();
  for (const Part& part : parts()) {
    // Steps need nothing more, and would have the arguments of every operator with the others.
    if (part.analysis != std::string_view("steps")) {
      request = trace::united(request, needs_of(part.analysis));
    }
  }
  request.devices = true;
  request.all_apis = true;
  return request;
}

std::string page_definition() {
  std::string text =
      "report: What stands out are the findings of sonde check that cost most; the tables below are "
      "those of the commands of the same names, cut to --limit rows.\n\n" +
      findings_definition();
  for (const Part& part : parts()) text += "\n" + find_analysis(part.analysis)->definition;
  return text;
}

Result<report::Report> page_of(trace::Trace trace, size_t rows, double least_percentage) {
  report::Report page = begin_report("report", trace);
  page.sections.push_back(facts_of(trace));
  for (Section& section : cpu_sections(trace)) {
    if (trace.ops.size() == 0) add_section(std::move(section), cpu_part(), rows, page);
  }
  for (const Part& part : parts()) {
    if (trace.ops.size() == 0 && !part.is_of_cpu) continue;
    SONDE_ASSIGN(report::Report answer, run_analysis(part.analysis, trace));
    Section section = std::move(answer.sections.front());
    if (section.key == "steps" && section.table.rows.empty()) continue;  // not every trace has some
    section.title = part.title;
    add_section(std::move(section), part, rows, page);
    add_notes(std::move(answer.notes), page);
  }
  for (Section& section : counter_sections(trace)) {
    report::limit_table(section.table, rows);
    page.sections.push_back(std::move(section));
  }
  for (Section& section : cpu_sections(trace)) {
    if (trace.ops.size() != 0) add_section(std::move(section), cpu_part(), rows, page);
  }
  page.sections.insert(page.sections.begin() + 1,
                       what_stands_out(std::move(trace), least_percentage));
  return page;
}

}  // namespace sonde::analysis
