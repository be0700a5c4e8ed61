#include "analysis/findings.h"

#include <algorithm>
#include <span>

#include "analysis/analysis.h"
#include "analysis/collectives.h"
#include "analysis/findings_rules.h"
#include "analysis/totals.h"
#include "base/strings.h"
#include "report/names.h"
#include "report/render.h"

namespace sonde::analysis {
namespace {

using report::Kind;
using trace::IntervalSet;
using trace::kNone;

constexpr size_t kNameWidth = 60;

std::vector<const Rule*> all_rules() {
  std::vector<const Rule*> rules = host_rules();
  for (const auto& more : {work_rules(), cpu_rules()}) {
    rules.insert(rules.end(), more.begin(), more.end());
  }
  return rules;
}

// Words in lines of a width, the first behind `label`, the others below it.
std::string indented(const std::string& label, std::string_view text) {
  constexpr size_t kIndent = 27, kWidth = 95;
  std::string line = "    " + label;
  line.resize(std::max(line.size() + 1, kIndent), ' ');
  std::string lines;
  size_t words = 0;
  for (const std::string_view word : split(text, ' ')) {
    if (words != 0 && line.size() + word.size() > kWidth) {
      lines += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line.assign(kIndent, ' ');
    }
    line += std::string(word) + " ";
    ++words;
  }
  return lines + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

Evidence::Evidence(const trace::Trace& of) : trace(of), gpus(gpu_times(of)) {
  for (const auto& [id, gpu] : gpus) {
    const Breakdown own = breakdown_of(trace::sweep(gpu.sets), gpu.extent);
    all.total_ns += own.total_ns;
    for (size_t i = 0; i < own.exposed_ns.size(); ++i) all.exposed_ns[i] += own.exposed_ns[i];
  }
}

Finding make_finding(const Rule& rule, int64_t cost_ns, int64_t wall_ns, std::string evidence) {
  return {rule.id, rule.title, std::move(evidence), rule.advice, cost_ns, wall_ns};
}

std::string time_text(int64_t ns) {
  report::Column column;
  column.kind = Kind::kTime;
  return report::text_of(ns, column);
}

std::string short_name_of(const std::string& name) {
  return report::cut_names(report::short_names(std::span(&name, 1)), kNameWidth).front();
}

int64_t idle_within(const Evidence& evidence, std::map<int32_t, IntervalSet> ranges) {
  for (auto& [process, set] : ranges) trace::normalise(set);
  int64_t idle_ns = 0;
  for (const auto& [id, gpu] : evidence.gpus) {
    IntervalSet busy, mine;
    for (const IntervalSet& set : gpu.sets) busy = trace::unite(busy, set);
    for (const auto& [process, set] : ranges) {
      const bool is_mine =
          process == kNone || gpu.processes.empty() || gpu.processes.count(process) != 0;
      if (is_mine) mine = trace::unite(mine, set);
    }
    idle_ns += trace::length_ns(trace::intersect(trace::gaps(busy, gpu.extent), mine));
  }
  return idle_ns;
}

std::vector<std::string> finding_ids() {
  std::vector<std::string> ids;
  for (const Rule* rule : all_rules()) ids.emplace_back(rule->id);
  return ids;
}

std::vector<Finding> findings_of(const trace::Trace& trace, double least_percentage) {
  std::vector<Finding> findings;
  if (trace.ops.size() == 0) {
    add_cpu_findings(trace, findings);
  } else {
    const Evidence evidence(trace);
    add_host_findings(evidence, findings);
    add_work_findings(evidence, findings);
  }
  std::erase_if(findings, [&](const Finding& finding) {
    return finding.cost_ns == 0 || finding.wall_percentage() < least_percentage;
  });
  const bool on_cpu = trace.ops.size() == 0;  // there the times are of different wholes
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& a, const Finding& b) {
    return on_cpu ? a.wall_percentage() > b.wall_percentage() : a.cost_ns > b.cost_ns;
  });
  return findings;
}

trace::Request findings_needs() {
  trace::Request request = trace::united(
      {.ops = true, .op_bytes = true, .links = true, .samples = true}, collectives_needs());
  request.all_apis = true;
  return request;
}

report::Report findings_report(const trace::Trace& trace, const std::vector<Finding>& findings) {
  report::Report report = begin_report("check", trace);
  const bool has_work =
      trace.ops.size() != 0 || trace.apis.size() != 0 || trace.samples.size() != 0;
  report::Section section;
  section.key = "check";
  section.empty_text = has_work ? "Nothing that stands out."
                                : "No operations of a device, no calls and no samples, so nothing "
                                  "can be said about its time.";
  section.table.add_column({"finding", "Finding", Kind::kText});
  section.table.add_column({"wall_percentage", "Wall", Kind::kPercent, 1});
  section.table.add_column({"cost_ns", "Time", Kind::kTime});
  section.table.add_column({"title", "What", Kind::kText});
  for (const Finding& finding : findings) {
    section.table.add_row({finding.id, finding.wall_percentage(), finding.cost_ns, finding.title});
    section.remarks.push_back(finding.id + ": " + finding.evidence + ". " + finding.advice);
  }
  report.sections.push_back(std::move(section));
  if (trace.ops.size() == 0 && has_work) {
    report.notes.push_back("no operations of a device: the findings are about time of the CPU");
  }
  return report;
}

std::string findings_definition() {
  std::string text =
      "check: what takes the GPUs' time and could be otherwise. Time is summed over GPUs, and Wall "
      "is its share of the time between the first and the last operation of each GPU (or of the "
      "window), summed as well. Findings that cost less than --least percent are left out; the "
      "others stand in order of cost, which may overlap.\n\n";
  for (const Rule* rule : all_rules()) text += indented(rule->id, rule->definition);
  text +=
      "\nExposed and idle times are those of sonde breakdown. In a trace without operations of a "
      "device Wall is the share of what the finding says its time is of, and orders them.\n";
  return text;
}

}  // namespace sonde::analysis
