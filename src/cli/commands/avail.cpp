// sonde avail: what there is to choose from: backends, metrics, counters and settings.
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

#include "base/join.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/parser.h"
#include "cli/roots.h"
#include "cli/settings.h"
#include "metrics/collect/catalogue.h"
#include "metrics/definitions.h"
#include "monitor/probe.h"
#include "record/backend.h"

namespace sonde::cli {

namespace {

using namespace report::columns;

report::Section backends_section() {
  report::Section section{.key = "backends", .title = "Backends"};
  section.table.add_columns(
      {text("name", "Name"), text("available", "Available"), text("watches", "Watches")});
  for (const auto& backend : record::all_backends()) {
    section.table.add_row(
        {backend.name, std::string(backend.probe().available ? "yes" : "no"), backend.summary});
  }
  return section;
}

report::Section metrics_section(const monitor::Roots& roots) {
  report::Section section{.key = "metrics", .title = "Metrics"};
  section.table.add_columns({text("name", "Name"), text("group", "Group"),
                             text("available", "Available"), text("default", "Default"),
                             text("meaning", "Meaning")});
  const auto found = monitor::probe(roots);
  const auto all = monitor::all_metrics();
  for (size_t i = 0; i < all.size(); ++i) {
    section.table.add_row({std::string(all[i].device) + "." + all[i].name,
                           std::string(all[i].group),
                           std::string(found.there.test(i) ? "yes" : "no"),
                           all[i].by_default ? "on" : "off", std::string(all[i].meaning)});
  }
  return section;
}

report::Section settings_section() {
  report::Section section{.key = "settings", .title = "Settings"};
  section.table.add_columns({text("name", "Name"), text("category", "Category"),
                             text("type", "Type"), text("default", "Default"),
                             text("environment", "Variable"), text("option", "Option"),
                             text("meaning", "Meaning")});
  for (const Setting& setting : record_settings()) {
    section.table.add_row({setting.name(), std::string(setting.category),
                           std::string(setting.type_name()), setting.option.fallback,
                           setting.environment(), longest_name(setting.option),
                           setting.option.help});
  }
  return section;
}

// The counters of one GPU, or of all.
Result<report::Section> counters_section(const std::string& gpu) {
  report::Section section{.key = "counters", .title = "Hardware counters"};
  section.table.add_columns({text("name", "Name"), text("block", "Block"), text("class", "Class"),
                             text("softgpu", "Software GPU"), text("gpus", "GPUs"),
                             text("meaning", "Meaning")});
  SONDE_ASSIGN(const metrics::Catalogue catalogue, metrics::counter_catalogue());
  for (const metrics::CounterInfo& counter : catalogue.counters) {
    if (!gpu.empty() && counter.events.count(gpu) == 0) continue;
    section.table.add_row({counter.name, counter.block, counter.kind, counter.softgpu,
                           join(counter.events, " ", [](const auto& event) { return event.first; }),
                           counter.about});
  }
  section.empty_text = "no counter of " + gpu + " is known";
  return section;
}

// What sonde sol can show of a workload of a GPU.
Result<report::Section> kernel_metrics_section(const std::string& gpu) {
  report::Section section{.key = "kernel_metrics", .title = "Metrics of kernels"};
  section.table.add_columns({text("id", "Id"), text("name", "Name"), text("unit", "Unit"),
                             text("gpu", "GPU"), text("table", "Table"),
                             text("meaning", "Meaning")});
  for (const std::string& known : metrics::known_gpus()) {
    if (!gpu.empty() && gpu != known) continue;
    SONDE_ASSIGN(const metrics::Definitions definitions, metrics::definitions_for(known));
    for (const metrics::MetricTable& table : definitions.tables) {
      for (const metrics::Metric& metric : table.metrics) {
        section.table.add_row(
            {metric.id, metric.name, metric.unit, known, table.title, metric.about});
      }
    }
  }
  section.empty_text = "no metric of " + gpu + " is known";
  return section;
}

// Rows in which no text is found are taken away.
Status keep_matching(report::Section& section, const std::string& pattern) {
  if (pattern.empty()) return ok_status();
  try {
    const std::regex wanted(pattern, std::regex::ECMAScript | std::regex::icase);
    std::erase_if(section.table.rows, [&](const std::vector<report::Value>& row) {
      return std::none_of(row.begin(), row.end(), [&](const report::Value& value) {
        const auto* text = std::get_if<std::string>(&value);
        return text != nullptr && std::regex_search(*text, wanted);
      });
    });
  } catch (const std::regex_error& error) {
    return make_error(ErrorCode::kInvalidArgument, "not a regular expression", pattern,
                      error.what());
  }
  return ok_status();
}

constexpr const char* kCategories[] = {"backends", "metrics", "counters", "kernel-metrics",
                                       "settings"};

bool is_category(const std::string& text) {
  return std::find(std::begin(kCategories), std::end(kCategories), text) != std::end(kCategories);
}

Result<int> run(const Arguments& arguments) {
  const monitor::Roots roots = roots_of(arguments);
  std::vector<std::string> patterns = arguments.positionals();
  std::string wanted = arguments.value_or("category", "");
  // "sonde avail counters TCC" is short for --category.
  if (wanted.empty() && !patterns.empty() && is_category(patterns[0])) {
    wanted = patterns[0];
    patterns.erase(patterns.begin());
  }
  if (patterns.size() > 1) {
    return make_error(ErrorCode::kInvalidArgument, "one REGEX at a time", patterns[1]);
  }
  const auto wants = [&](const char* name) { return wanted.empty() || wanted == name; };
  report::Report report;
  report.name = "avail";
  report.subject = "this machine";
  if (wants("backends")) report.sections.push_back(backends_section());
  if (wants("metrics")) report.sections.push_back(metrics_section(roots));
  if (wants("counters")) {
    SONDE_ASSIGN(report::Section section, counters_section(arguments.value_or("gpu", "")));
    report.sections.push_back(std::move(section));
  }
  if (wanted == "kernel-metrics") {  // of each GPU, so not among all others
    SONDE_ASSIGN(report::Section section, kernel_metrics_section(arguments.value_or("gpu", "")));
    report.sections.push_back(std::move(section));
  }
  if (wants("settings")) report.sections.push_back(settings_section());
  for (auto& section : report.sections) {
    SONDE_TRY(keep_matching(section, patterns.empty() ? "" : patterns[0]));
  }
  return print_report(arguments, std::move(report), 0);
}

constexpr const char* kText = R"(
avail - List the available backends, metrics, counters and settings

Lists everything that sonde record can record, and how it can be set: interfaces, metrics (and
whether this machine has them: each is tried once), and settings with their variables, options and
defaults. REGEX keeps the rows in which it is found, in any column, ignoring case. The name of a
category before it lists that alone.

Arguments:
[REGEX...]  what to list, as for --category, and then what to keep

Options:
--category NAME={}  list only these [all but kernel-metrics]
--gpu NAME  only hardware counters, or metrics of kernels, that this GPU has: gfx90a [all]
--proc-root DIR  look for metrics here instead of in /proc [/proc]
--sys-root DIR  look for metrics here instead of in /sys [/sys]
--format --table

Examples:
sonde avail  everything
sonde avail --category metrics gpu  the metrics of GPUs
sonde avail counters --gpu gfx90a TCC  the hardware counters of the L2 of a gfx90a
sonde avail kernel-metrics --gpu gfx942 latency  what sonde sol can say about latencies on an MI300X
sonde avail --category settings --format json  the settings, for a script
)";

}  // namespace

Command avail_command() {
  return make_command(fmt::format(kText, fmt::join(kCategories, "|")), run);
}

}  // namespace sonde::cli
