// sonde doctor: what can be recorded on this machine, and what is missing for the rest.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/common.h"
#include "monitor/permissions.h"
#include "monitor/probe.h"
#include "record/backend.h"
#include "record/launcher.h"
#include "record/options.h"
#include "record/session_dir.h"
#include "wire/session.h"

namespace sonde::cli {

namespace {

bool installed(const std::string& library) {
  return ::access((record::library_folder() + "/" + library).c_str(), R_OK) == 0;
}

report::Section backends_section() {
  report::Section section;
  section.key = "backends";
  section.title = "Backends";
  section.table.add_column({"name", "Name", report::Kind::kText});
  section.table.add_column({"state", "State", report::Kind::kText});
  section.table.add_column({"watches", "Watches", report::Kind::kText});
  section.table.add_column({"detail", "Detail", report::Kind::kText});
  for (const auto* backend : record::all_backends()) {
    const bool there = installed(backend->library);
    const record::Probe probe =
        there ? backend->probe()
              : record::Probe{false, backend->library + " is not in " + record::library_folder()};
    section.table.add_row({backend->name, std::string(probe.available ? "ready" : "missing"),
                           backend->summary, probe.detail});
  }
  return section;
}

// The metrics by group: all, some or none of a group's, what is missing and how to allow it.
report::Section metrics_section(const monitor::Availability& found) {
  report::Section section;
  section.key = "metrics";
  section.title = "Metrics";
  section.table.add_column({"group", "Group", report::Kind::kText});
  section.table.add_column({"state", "State", report::Kind::kText});
  section.table.add_column({"detail", "Detail", report::Kind::kText});
  const auto all = monitor::all_metrics();
  for (size_t i = 0; i < all.size();) {
    const std::string group = all[i].group;
    size_t there = 0, count = 0;
    for (; i < all.size() && all[i].group == group; ++i, ++count)
      there += found.there.test(i) ? 1 : 0;
    std::string detail;
    for (const auto& missing : found.missing) {
      if (missing.group != group) continue;
      const std::string how = monitor::how_to_allow(missing);
      detail += (detail.empty() ? "" : "; ") + missing.what + ": " + missing.why +
                (how.empty() ? "" : " (" + how + ")");
    }
    const char* state = there == count ? "ready" : there != 0 ? "partly" : "missing";
    section.table.add_row({group, std::string(state), detail});
  }
  return section;
}

// What the system lets this user do, each with what is lost without it and how to allow it.
report::Section permissions_section(const monitor::Roots& roots) {
  report::Section section;
  section.key = "permissions";
  section.title = "Permissions";
  for (const auto& permission : permissions(roots)) {
    section.add_fact({permission.key, permission.name, report::Kind::kText, permission.state});
  }
  return section;
}

report::Section recording_section() {
  report::Section section;
  section.key = "recording";
  section.title = "Recording";
  const bool agent = installed("libsonde-agent.so");
  section.add_fact({"agent", "Agent", report::Kind::kText,
                    agent ? std::string("ready") : "missing from " + record::library_folder()});
  section.add_fact(
      {"clock", "Clock", report::Kind::kText,
       std::string(wire::best_clock() == wire::ClockKind::kTsc
                       ? "TSC (invariant, and the kernel's clock source)"
                       : "clock_gettime (no invariant TSC; about 30 ns more per event)")});
  section.add_fact(
      {"softgpu", "Without an AMD GPU", report::Kind::kText,
       std::string(record::softgpu_launcher().empty()
                       ? "this build has no software GPU (sonde record --softgpu)"
                       : "sonde record --softgpu runs HIP programs on a software GPU")});
  const record::Options options;
  auto session = record::make_session_dir(options);
  if (session) {
    section.add_fact({"spool", "Session directory", report::Kind::kText,
                      std::filesystem::path(*session).parent_path().string()});
    section.add_fact({"spool_limit_bytes", "Space for records", report::Kind::kBytes,
                      static_cast<int64_t>(record::session_limit(options, *session))});
    record::remove_session_dir(*session);
  } else {
    section.add_fact(
        {"spool", "Session directory", report::Kind::kText, session.error().to_line()});
  }
  return section;
}

Result<int> run(const Arguments& arguments) {
  monitor::Roots roots;
  roots.proc = arguments.value_or("proc-root", roots.proc);
  roots.sys = arguments.value_or("sys-root", roots.sys);
  report::Report report;
  report.name = "doctor";
  report.subject = "this machine";
  report.sections = {backends_section(), recording_section(),
                     metrics_section(monitor::probe(roots)), permissions_section(roots)};
  const bool agent = installed("libsonde-agent.so");
  if (!agent) report.warnings.push_back("the agent library is missing: nothing can be recorded");
  SONDE_TRY(print_report(arguments, std::move(report)));
  return agent ? 0 : 1;
}

}  // namespace

const Command& doctor_command() {
  static const Command kCommand = {
      .name = "doctor",
      .group = "Record",
      .summary = "Say what can be recorded on this machine, and why the rest cannot",
      .description =
          "Checks every interface that Sonde can record, the agent, the clock, the space, the "
          "metrics and what the system permits, and says what is missing and how to get it. Exit "
          "status 1 if nothing can be recorded.",
      .options = {{"--proc-root", "DIR", "look for metrics here instead of in /proc", "/proc"},
                  {"--sys-root", "DIR", "look for metrics here instead of in /sys", "/sys"},
                  format_option(),
                  table_option()},
      .examples = {{"sonde doctor", "check this machine"},
                   {"sonde doctor --format json", "the same for a script"}},
      .run = run};
  return kCommand;
}

}  // namespace sonde::cli
