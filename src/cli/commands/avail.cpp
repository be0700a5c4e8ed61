// sonde avail: what there is to choose from: backends, metrics, counters and settings.
#include <algorithm>
#include <regex>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/parser.h"
#include "cli/settings.h"
#include "monitor/probe.h"
#include "record/backend.h"

namespace sonde::cli {

namespace {

report::Section new_section(const char* key, const char* title,
                            std::initializer_list<std::pair<const char*, const char*>> columns) {
  report::Section section;
  section.key = key;
  section.title = title;
  for (const auto& [name, heading] : columns) {
    section.table.add_column({name, heading, report::Kind::kText});
  }
  return section;
}

report::Section backends_section() {
  auto section =
      new_section("backends", "Backends",
                  {{"name", "Name"}, {"available", "Available"}, {"watches", "Watches"}});
  for (const auto* backend : record::all_backends()) {
    section.table.add_row(
        {backend->name, std::string(backend->probe().available ? "yes" : "no"), backend->summary});
  }
  return section;
}

report::Section metrics_section(const monitor::Roots& roots) {
  auto section = new_section("metrics", "Metrics",
                             {{"name", "Name"},
                              {"group", "Group"},
                              {"available", "Available"},
                              {"default", "Default"},
                              {"meaning", "Meaning"}});
  const auto found = monitor::probe(roots);
  const auto all = monitor::all_metrics();
  for (size_t i = 0; i < all.size(); ++i) {
    section.table.add_row(
        {std::string(all[i].device) + "." + all[i].name, std::string(all[i].group),
         std::string(found.there.test(i) ? "yes" : "no"),
         std::string(all[i].by_default ? "on" : "off"), std::string(all[i].meaning)});
  }
  return section;
}

report::Section settings_section() {
  auto section = new_section("settings", "Settings",
                             {{"name", "Name"},
                              {"category", "Category"},
                              {"type", "Type"},
                              {"default", "Default"},
                              {"environment", "Variable"},
                              {"option", "Option"},
                              {"meaning", "Meaning"}});
  for (const Setting& setting : record_settings()) {
    section.table.add_row({setting.name(), std::string(setting.category),
                           std::string(setting.type_name()), setting.option.fallback,
                           setting.environment(), longest_name(setting.option),
                           setting.option.help});
  }
  return section;
}

// Rows in which no text is found are taken away.
Status keep_matching(report::Section& section, const std::string& pattern) {
  if (pattern.empty()) return ok_status();
  try {
    const std::regex wanted(pattern, std::regex::ECMAScript | std::regex::icase);
    const auto other = [&](const std::vector<report::Value>& row) {
      return std::none_of(row.begin(), row.end(), [&](const report::Value& value) {
        const auto* text = std::get_if<std::string>(&value);
        return text != nullptr && std::regex_search(*text, wanted);
      });
    };
    auto& rows = section.table.rows;
    rows.erase(std::remove_if(rows.begin(), rows.end(), other), rows.end());
  } catch (const std::regex_error& error) {
    return make_error(ErrorCode::kInvalidArgument, "not a regular expression", pattern,
                      error.what());
  }
  return ok_status();
}

Result<int> run(const Arguments& arguments) {
  monitor::Roots roots;
  roots.proc = arguments.value_or("proc-root", roots.proc);
  roots.sys = arguments.value_or("sys-root", roots.sys);
  const std::string wanted = arguments.value_or("category", "");
  const auto wants = [&](const char* name) { return wanted.empty() || wanted == name; };
  report::Report report;
  report.name = "avail";
  report.subject = "this machine";
  if (wants("backends")) report.sections.push_back(backends_section());
  if (wants("metrics")) report.sections.push_back(metrics_section(roots));
  if (wants("counters")) {
    report.sections.push_back(
        new_section("counters", "Hardware counters", {{"name", "Name"}, {"device", "Device"}}));
    report.notes.push_back("hardware counters cannot be recorded yet");
  }
  if (wants("settings")) report.sections.push_back(settings_section());
  const auto& patterns = arguments.positionals();
  for (auto& section : report.sections) {
    SONDE_TRY(keep_matching(section, patterns.empty() ? "" : patterns[0]));
  }
  return print_report(arguments, std::move(report), 0);
}

}  // namespace

const Command& avail_command() {
  static const Command kCommand = {
      .name = "avail",
      .group = "Record",
      .summary = "List the available backends, metrics, counters and settings",
      .description =
          "Lists everything that sonde record can record or be told: interfaces, metrics (and "
          "whether this machine has them: each is tried once), and settings with their variables, "
          "options and defaults. REGEX keeps the rows in which it is found, in any column, "
          "ignoring case.",
      .positionals = {{"REGEX", "keep what matches", false}},
      .options = {{"--category",
                   "NAME",
                   "list only these",
                   "all",
                   {"backends", "metrics", "counters", "settings"}},
                  {"--proc-root", "DIR", "look for metrics here instead of in /proc", "/proc"},
                  {"--sys-root", "DIR", "look for metrics here instead of in /sys", "/sys"},
                  format_option(),
                  table_option()},
      .examples = {{"sonde avail", "everything"},
                   {"sonde avail --category metrics gpu", "the metrics of GPUs"},
                   {"sonde avail --category settings --format json", "the settings, for a script"}},
      .run = run};
  return kCommand;
}

}  // namespace sonde::cli
