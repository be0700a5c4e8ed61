// sonde doctor: what can be recorded on this machine, and what is missing for the rest.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/unique_fd.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/counter_choice.h"
#include "cli/roots.h"
#include "metrics/collect/catalogue.h"
#include "monitor/permissions.h"
#include "monitor/probe.h"
#include "record/backend.h"
#include "record/launcher.h"
#include "record/options.h"
#include "record/session_dir.h"
#include "report/layout.h"
#include "wire/session.h"

namespace sonde::cli {

namespace {

using namespace report::columns;

bool installed(const std::string& library) {
  return ::access((record::library_folder() + "/" + library).c_str(), R_OK) == 0;
}

report::Section backends_section() {
  report::Section section{.key = "backends", .title = "Backends"};
  section.table.add_columns({text("name", "Name"), text("state", "State"),
                             text("watches", "Watches"), text("detail", "Detail")});
  report::leave_first(section.table, {"watches"});
  section.table.columns.back().priority = 1;
  for (const auto& backend : record::all_backends()) {
    const bool there = installed(backend.library);
    const record::Probe probe =
        there ? backend.probe()
              : record::Probe{false, backend.library + " is not in " + record::library_folder()};
    section.table.add_row(
        {backend.name, probe.available ? "ready" : "missing", backend.summary, probe.detail});
  }
  return section;
}

// The metrics by group: whether all, some or none work, what is missing and how to allow it.
report::Section metrics_section(const monitor::Availability& found) {
  report::Section section{.key = "metrics", .title = "Metrics"};
  section.table.add_columns(
      {text("group", "Group"), text("state", "State"), text("detail", "Detail")});
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

// What the system permits this user, what is lost without it, and how to allow it.
report::Section permissions_section(const monitor::Roots& roots) {
  report::Section section{.key = "permissions", .title = "Permissions"};
  for (const auto& permission : permissions(roots)) {
    section.add_fact({permission.key, permission.name, report::Kind::kText, permission.state});
  }
  return section;
}

// Newer drivers give counters to the process that asks for them by AMDKFD_IOC_PROFILER; asking for
// its version changes nothing. It had another number before it was merged into Linux.
bool driver_locks_counters() {
  constexpr uint32_t kVersion = 2;
  constexpr unsigned long kRequests[] = {0xC0284B28, 0xC0284B86};
  const UniqueFd driver(::open("/dev/kfd", O_RDWR | O_CLOEXEC));
  if (!driver.valid()) return false;
  return std::any_of(std::begin(kRequests), std::end(kRequests), [&](unsigned long request) {
    uint32_t arguments[10] = {kVersion};
    return ::ioctl(driver.get(), request, arguments) == 0;
  });
}

// What sonde profile can count here.
std::string counters_of(const monitor::Roots& roots) {
  const std::vector<std::string> gpus = gpus_of_this_machine(roots.sys);
  if (gpus.empty()) {
    return record::softgpu_launcher().empty()
               ? "no AMD GPU"
               : "no AMD GPU; sonde profile --softgpu counts on a software one";
  }
  static constexpr const char* kLibraries[] = {"libhsa-amd-aqlprofile64.so",
                                               "libhsa-amd-aqlprofile64.so.1",
                                               "/opt/rocm/lib/libhsa-amd-aqlprofile64.so"};
  std::string library;
  if (!record::find_library(kLibraries, &library)) {
    return "libhsa-amd-aqlprofile64.so is missing; it comes with ROCm (hsa-amd-aqlprofile)";
  }
  const auto catalogue = metrics::counter_catalogue();
  std::string text;
  for (const std::string& gpu : gpus) {
    const int64_t known =
        !catalogue ? 0
                   : std::count_if(catalogue->counters.begin(), catalogue->counters.end(),
                                   [&](const metrics::CounterInfo& each) {
                                     return each.events.count(gpu) != 0;
                                   });
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", gpu,
                        known != 0 ? fmt::format("{} counters (sonde profile)", known)
                                   : std::string("Sonde does not know its counters yet"));
  }
  if (!check_gpu_access()) text += "; /dev/kfd cannot be opened (add yourself to group render)";
  if (driver_locks_counters()) {
    text += "; this driver lets only rocprofiler-sdk count, which Sonde does not use yet";
  }
  return text;
}

report::Section recording_section(const monitor::Roots& roots) {
  report::Section section{.key = "recording", .title = "Recording"};
  const bool agent = installed("libsonde-agent.so");
  section.add_fact({"agent", "Agent", report::Kind::kText,
                    agent ? "ready" : "missing from " + record::library_folder()});
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
  section.add_fact({"counters", "Hardware counters", report::Kind::kText, counters_of(roots)});
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
  const monitor::Roots roots = roots_of(arguments);
  report::Report report;
  report.name = "doctor";
  report.subject = "this machine";
  report.sections = {backends_section(), recording_section(roots),
                     metrics_section(monitor::probe(roots)), permissions_section(roots)};
  const bool agent = installed("libsonde-agent.so");
  if (!agent) report.warnings.push_back("the agent library is missing: nothing can be recorded");
  SONDE_TRY(print_report(arguments, std::move(report)));
  return agent ? 0 : 1;
}

constexpr const char* kText = R"(
doctor - Say what can be recorded on this machine, and why the rest cannot

Checks every interface that Sonde can record, the agent, the clock, the space, the metrics and what
the system permits, and says what is missing and how to get it. The exit status is 1 if nothing can
be recorded.

Options:
--proc-root DIR  look for metrics here instead of in /proc [/proc]
--sys-root DIR  look for metrics here instead of in /sys [/sys]
--format --table

Examples:
sonde doctor  check this machine
sonde doctor --format json  the same for a script
)";

}  // namespace

Command doctor_command() { return make_command(kText, run); }

}  // namespace sonde::cli
