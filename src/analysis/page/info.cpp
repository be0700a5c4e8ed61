#include "analysis/page/info.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace sonde::analysis {
namespace {

using namespace report::columns;
using report::Kind;
using report::Section;
using report::Value;

Value text_or_none(const std::string& text) { return text.empty() ? Value() : Value(text); }

Value integer_or_none(const std::optional<int64_t>& integer) {
  return integer ? Value(*integer) : Value();
}

std::string kind_of(const trace::ImportedFrom& imported) {
  if (imported.kind.empty()) return "an unknown kind";
  return imported.kind + ": " + imported.summary;
}

std::string recorder_of(const trace::FileInfo& info) {
  if (!info.made_by_sonde) return "another tool (rocmProfileData)";
  const auto is_ours = [](const trace::ImportedFrom& each) { return each.kind == "rpd"; };
  const bool ours = std::all_of(info.imported.begin(), info.imported.end(), is_ours);
  return ours                    ? "Sonde"
         : info.is_another_tools ? "another tool"
                                 : "another tool, imported by Sonde";
}

// What the times count, in words.
std::string clock_of(const trace::FileInfo& info) {
  if (info.imported.empty()) return "CLOCK_MONOTONIC of the recorded machine";
  std::string text;
  for (const std::string& clock : info.process_clocks) {
    text += text.empty() ? "" : "; ";
    if (clock.empty()) {
      text += "the trace's own, from an unknown origin";
    } else if (clock == "realtime") {
      text += "the time of day, from the trace's base time";
    } else {
      text += "CLOCK_";
      for (const char c : clock) text += static_cast<char>(std::toupper(c));
      text += " of the recorded machine";
    }
  }
  return text.empty() ? "not known" : text;
}

Section file_section(const trace::FileInfo& info) {
  Section section{.key = "info"};
  const auto fact = [&](const char* key, const char* title, Kind kind, Value value) {
    section.add_fact({key, title, kind, std::move(value)});
  };
  fact("file", "File", Kind::kText, info.path);
  fact("file_bytes", "Size", Kind::kBytes, info.file_bytes);
  fact("format", "Format", Kind::kText,
       info.is_another_tools ? kind_of(info.imported[0]) : "RPD schema " + info.flavour);
  fact("made_by", "Recorded by", Kind::kText, recorder_of(info));
  for (size_t i = 0; !info.is_another_tools && i < info.imported.size(); ++i) {
    const std::string key = i == 0 ? "imported_from" : "imported_from_" + std::to_string(i + 1);
    fact(key.c_str(), "Imported from", Kind::kText,
         info.imported[i].path + " (" + kind_of(info.imported[i]) + ")");
  }
  if (info.recorded_at_s) {
    fact("recorded_at", "Recorded at", Kind::kText,
         fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(*info.recorded_at_s)));
  }
  if (info.span) {
    fact("duration_ns", "Duration", Kind::kTime, info.span->end_ns - info.span->start_ns);
    fact("start_ns", "First event", Kind::kTime, info.span->start_ns);
    fact("end_ns", "Last event", Kind::kTime, info.span->end_ns);
  }
  fact("clock", "Clock", Kind::kText, clock_of(info));
  if (!info.clocks.empty()) {
    fact("snapshots", "Compared with", Kind::kText,
         fmt::format("{}", fmt::join(info.clocks, ", ")));
  }
  return section;
}

// Wrappers and helpers of a shell, dozens of them before some programs, recorded nothing.
Section processes_section(const trace::FileInfo& info, bool all) {
  constexpr size_t kMany = 8;
  const auto recorded_nothing = [](const trace::ProcessInfo& each) { return each.threads == 0; };
  const auto silent = static_cast<size_t>(
      std::count_if(info.processes.begin(), info.processes.end(), recorded_nothing));
  const bool left_out = !all && silent > kMany && silent < info.processes.size();
  Section section{"processes", "Processes", {}, {}, "None known."};
  section.table.add_columns({id("pid", "PID"), id("rank", "Rank"), integer("threads", "Threads"),
                             time("duration_ns", "Duration"), text("exit", "Exit"),
                             text("command", "Command")});
  for (const auto& process : info.processes) {
    if (left_out && recorded_nothing(process)) continue;
    Value duration;
    if (process.start_ns && process.end_ns) duration = *process.end_ns - *process.start_ns;
    section.table.add_row({process.pid, integer_or_none(process.rank), process.threads, duration,
                           text_or_none(process.exit), text_or_none(process.command)});
  }
  if (left_out) {
    section.remarks.push_back(format_count(silent) +
                              " processes without records are left out; --metadata lists them");
  }
  return section;
}

Section devices_section(const trace::FileInfo& info) {
  Section section{"devices", "Devices", {}, {}, "None known."};
  if (info.gpus_with_metrics != 0) {
    section.empty_text =
        fmt::format("None known, but metrics of {} GPU{} were recorded.", info.gpus_with_metrics,
                    info.gpus_with_metrics == 1 ? "" : "s");
  }
  section.table.add_columns({id("gpu_id", "GPU"), text("backend", "Backend"), text("name", "Name"),
                             text("vendor", "Vendor"), text("kind", "Kind"),
                             bytes("memory_bytes", "Memory"),
                             integer("compute_units", "Compute units")});
  for (const auto& device : info.devices) {
    section.table.add_row({device.gpu_id, text_or_none(device.backend), text_or_none(device.name),
                           text_or_none(device.vendor), text_or_none(device.kind),
                           integer_or_none(device.memory_bytes),
                           integer_or_none(device.compute_units)});
  }
  return section;
}

Section counts_section(const trace::FileInfo& info) {
  Section section{"counts", "Contents", {}, {}, ""};
  section.table.add_columns({text("what", "Rows of"), integer("count", "Count")});
  for (const auto& count : info.counts) section.table.add_row({count.what, count.count});
  return section;
}

Section diagnostics_section(const trace::FileInfo& info) {
  Section section{"diagnostics", "Diagnostics of the recording", {}, {}, "None."};
  section.table.add_columns({text("severity", "Severity"), text("source", "Source"),
                             integer("count", "Times"), text("text", "Text")});
  for (const auto& diagnostic : info.diagnostics) {
    section.table.add_row(
        {diagnostic.severity, diagnostic.source, diagnostic.count, diagnostic.text});
  }
  return section;
}

Section faults_section(const trace::FileInfo& info) {
  Section section{"faults", "GPUs that failed", {}, {}, "None."};
  section.table.add_columns({text("kind", "Kind"), integer("pid", "Process"), id("gpu_id", "GPU"),
                             name("kernel", "Kernel"), text("cause", "Likely cause"),
                             text("title", "What happened")});
  for (const auto& fault : info.faults) {
    section.table.add_row({fault.kind, fault.pid, fault.gpu_id < 0 ? Value() : Value(fault.gpu_id),
                           text_or_none(fault.kernel), fault.cause, fault.title});
  }
  return section;
}

Section facts_section(const char* key, const char* title,
                      const std::vector<trace::KeyValue>& facts) {
  Section section{key, title, {}, {}, "None."};
  section.table.add_columns({text("key", "Key"), text("value", "Value")});
  for (const auto& fact : facts) section.table.add_row({fact.key, fact.value});
  return section;
}

// What tools write about themselves may be pages long.
std::vector<trace::KeyValue> shortened(std::vector<trace::KeyValue> facts) {
  constexpr size_t kLong = 160;
  for (trace::KeyValue& fact : facts) {
    if (fact.value.size() <= kLong && fact.value.find('\n') == fact.value.npos) continue;
    fact.value =
        "(" + format_count(display_width(fact.value)) + " characters; --metadata shows it)";
  }
  return facts;
}

}  // namespace

report::Report info_report(const trace::FileInfo& info, const InfoOptions& options) {
  report::Report report;
  report.name = "info";
  report.subject = info.path;
  report.sections = {
      file_section(info),
      processes_section(info, options.long_metadata),
      devices_section(info),
      counts_section(info),
      diagnostics_section(info),
      facts_section("metadata", "Metadata",
                    options.long_metadata ? info.metadata : shortened(info.metadata))};
  if (!info.faults.empty()) {
    report.sections.insert(report.sections.begin() + 1, faults_section(info));
  }
  if (options.environment) {
    report.sections.push_back(facts_section("environment", "Environment", info.environment));
  }
  report.warnings = info.warnings;
  return report;
}

}  // namespace sonde::analysis
