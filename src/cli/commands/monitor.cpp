// sonde monitor: what the GPUs, the processes on them and the host do now.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/monitor_screen.h"
#include "cli/roots.h"
#include "cli/terminal.h"
#include "report/layout.h"
#include "report/render.h"
#include "report/sort.h"
#include "watch/tables.h"
#include "watch/watcher.h"

namespace sonde::cli {

namespace {

constexpr int64_t kFirstPauseNs = 250'000'000;  // rates need two readings
// With one of them there is no full screen.
constexpr const char* kPlain[] = {"once",  "watch", "json", "csv", "format",
                                  "table", "all",   "gpu",  "pid", "job"};
constexpr int64_t kLeastPauseNs = 50'000'000;

struct Plan {
  std::string format = "text";
  watch::Detail detail = watch::Detail::kBrief;
  std::optional<int64_t> every_ns, count, gpu, pid;
  std::optional<std::string> job;
};

Error wrong(const std::string& what, const char* option, const std::string& hint = {}) {
  return make_error(ErrorCode::kInvalidArgument, what, option, hint);
}

Result<Plan> plan_of(const Arguments& arguments) {
  Plan plan;
  if (arguments.flag("json") && arguments.flag("csv")) {
    return wrong("cannot be combined", "--json and --csv", "leave one out");
  }
  if (const auto format = arguments.value("format")) plan.format = *format;
  if (arguments.flag("json")) plan.format = "json";
  if (arguments.flag("csv")) plan.format = "csv";
  const bool for_people = report::find_renderer(plan.format)->for_people;
  plan.detail = !for_people             ? watch::Detail::kData
                : arguments.flag("all") ? watch::Detail::kAll
                                        : watch::Detail::kBrief;
  if (const auto text = arguments.value("watch")) {
    plan.every_ns = parse_duration_ns(*text, 1'000'000'000);
    if (!plan.every_ns || *plan.every_ns < kLeastPauseNs) {
      return wrong("'" + *text + "' is not a time of 0.05 s or more", "--watch");
    }
    if (arguments.flag("once")) {
      return wrong("cannot be combined", "--once and --watch", "leave one out");
    }
  }
  SONDE_ASSIGN(plan.count, whole_number(arguments, "count"));
  if (plan.count && (*plan.count < 1 || !plan.every_ns)) {
    return wrong("needs --watch SEC, and is 1 or more", "--count");
  }
  SONDE_ASSIGN(plan.gpu, whole_number(arguments, "gpu"));
  SONDE_ASSIGN(plan.pid, whole_number(arguments, "pid"));
  plan.job = arguments.value("job");
  return plan;
}

// Keeps only what was asked for.
Status choose(const Plan& plan, watch::Snapshot& snapshot) {
  const auto keep = [](auto& list, const auto& wanted) {
    std::erase_if(list, [&](const auto& each) { return !wanted(each); });
  };
  if (plan.gpu) {
    if (snapshot.gpu(*plan.gpu) == nullptr) {
      return make_error(ErrorCode::kNotFound,
                        fmt::format("no such GPU; there are {}", snapshot.gpus.size()),
                        fmt::format("--gpu {}", *plan.gpu));
    }
    keep(snapshot.gpus, [&](const watch::Gpu& gpu) { return gpu.number == *plan.gpu; });
    keep(snapshot.alerts, [&](const watch::Alert& alert) { return alert.gpu == plan.gpu; });
    keep(snapshot.processes, [&](const watch::Process& process) {
      return std::any_of(process.gpus.begin(), process.gpus.end(),
                         [&](const watch::GpuUse& use) { return use.gpu == *plan.gpu; });
    });
  }
  if (plan.pid) {
    keep(snapshot.processes, [&](const watch::Process& each) { return each.pid == *plan.pid; });
  }
  if (plan.job) {
    keep(snapshot.processes, [&](const watch::Process& each) {
      return each.job == *plan.job || each.job == "slurm:" + *plan.job;
    });
  }
  return ok_status();
}

Result<report::Report> report_of(const Plan& plan, watch::Snapshot& snapshot) {
  const bool has_processes = !snapshot.processes.empty();
  SONDE_TRY(choose(plan, snapshot));
  report::Report report = watch::report_of(snapshot, plan.detail);
  for (report::Section& section : report.sections) {
    if (section.key != "processes" || !has_processes) continue;
    section.empty_text =
        plan.pid || plan.job ? "no such process uses a GPU" : "no process uses this GPU";
  }
  return report;
}

// An object on one line, so that a stream of them can be read line by line.
std::string on_one_line(std::string_view json) {
  std::string line;
  bool blank = false;
  for (const char c : json) {  // a line end within a text is escaped
    if (c == '\n') {
      blank = true;
    } else if (!blank || c != ' ') {
      blank = false;
      line += c;
    }
  }
  return line + "\n";
}

Status print_again(const Arguments& arguments, const Plan& plan, report::Report report,
                   bool first) {
  const report::Renderer* renderer = report::find_renderer(plan.format);
  if (plan.format == "csv" || arguments.value("table")) {
    SONDE_TRY(report::choose_table(report, arguments.value_or("table", "")));
  }
  report::RenderOptions options;
  options.width = report::terminal_width(STDOUT_FILENO);
  options.colour = report::wants_colour(STDOUT_FILENO);
  std::string text = renderer->render(report, options);
  if (plan.format == "json") text = on_one_line(text);
  if (plan.format == "csv" && !first) text.erase(0, text.find('\n') + 1);
  if (renderer->for_people && !first) text.insert(0, "\n");
  return write_stdout(text);
}

void sleep_until(int64_t time_ns) {
  const timespec until = {time_ns / 1'000'000'000, time_ns % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(const auto plan, plan_of(arguments));
  SONDE_TRY(check_roots(arguments));
  watch::WatchOptions options = watch_options(arguments);
  options.whole_table = arguments.flag("all") && plan.detail == watch::Detail::kData;
  const bool plain = std::any_of(std::begin(kPlain), std::end(kPlain),
                                 [&](const char* name) { return arguments.flag(name); });
  if (!plain && can_show_screen()) return show_monitor_screen(options, 1);
  watch::Watcher watcher(options);
  watcher.look();
  int64_t due_ns = monotonic_now_ns() + kFirstPauseNs;
  for (int64_t round = 0;; ++round) {
    sleep_until(due_ns);
    watch::Snapshot snapshot = watcher.look();
    SONDE_ASSIGN(report::Report report, report_of(plan, snapshot));
    if (!plan.every_ns) {
      Arguments shown = arguments;
      shown.set("format", plan.format);
      return print_report(shown, std::move(report), 0);
    }
    if (report::find_renderer(plan.format)->for_people)
      report.subject = watch::time_text(snapshot.unix_time_ns);
    SONDE_TRY(print_again(arguments, plan, std::move(report), round == 0));
    if (plan.count && round + 1 >= *plan.count) return 0;
    // Readings that would be late are left out.
    const int64_t now_ns = monotonic_now_ns();
    while (due_ns <= now_ns) due_ns += *plan.every_ns;
  }
}

constexpr const char* kText = R"(
monitor - Show what the GPUs, the processes on them and the host do now

Shows for each GPU how busy it is, its memory, power, temperatures and clocks, and what throttles
them; for each process on a GPU its memory there, its user, job, rank and container; and the host.
Alerts say what is worth a look, and why.

At a terminal it fills the screen until q is pressed; ? lists the keys. With an option that chooses
what is shown or how, without a terminal, or where TERM is dumb, it prints tables.

It reads /proc, /sys and NVML only: it opens no GPU and wakes none that is asleep. Values are
current; rates cover a quarter of a second, or with --watch the time between two readings.

The GPU time of a HIP process is not shown, because the kernel does not count it; sonde record
measures it. CUs is the number of compute units that had work of the process at the moment of
reading.

Options:
--once  show one table and end
--watch SEC  read again every SEC seconds, until Ctrl-C [read once]
-n, --count N  with --watch: stop after N readings [no end]
--json  every value, as an object (with --watch: one per line)
--csv  every value, one row per GPU
--all  also health, links and partitions, and with --json every number of gpu_metrics
--gpu
--pid PID  only this process [all]
--job ID  only the processes of this job [all]
--proc-root --sys-root --nvml --format --table

Examples:
sonde monitor  a full screen that follows what happens
sonde monitor --once  a table of the GPUs and of the processes on them
sonde monitor --watch 1 --json  a line of JSON a second
sonde monitor --csv --table processes  the processes as CSV
)";

}  // namespace

Command monitor_command() { return make_command(kText, run); }

}  // namespace sonde::cli
