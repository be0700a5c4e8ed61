// sonde record: the command line of recording, and the summary at its end.
#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/finding_names.h"
#include "cli/period.h"
#include "cli/program.h"
#include "cli/program_logs.h"
#include "cli/record_summary.h"
#include "cli/roots.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "cli/trace_name.h"
#include "record/attach.h"
#include "record/child.h"
#include "record/record.h"
#include "wire/board.h"
#include "wire/session.h"

namespace sonde::cli {

namespace {

// A recording with --last consists of so many parts, and one more.
constexpr int kPartsOfLast = 6;
constexpr int64_t kShortestPartNs = 1'000'000'000;

// The values were checked when they were resolved (settings.h).
uint64_t size_option(const Arguments& arguments, const char* name) {
  return parse_size(arguments.value_or(name, "0")).value_or(0);
}

int64_t time_option(const Arguments& arguments, const char* name) {
  return parse_duration_ns(arguments.value_or(name, "0"), 1'000'000'000).value_or(0);
}

int64_t number_option(const Arguments& arguments, const char* name, const char* fallback) {
  return parse_int(arguments.value_or(name, fallback)).value_or(0);  // 0: off
}

Result<monitor::Settings> metrics_of(const Resolved& resolved) {
  const Arguments& arguments = resolved.arguments;
  monitor::Settings settings;
  // A metric that only a preset asks for is not missed if it is not available.
  if (!resolved.entry("metrics").is_preset) settings.list = arguments.value_or("metrics", "");
  SONDE_ASSIGN(settings.metrics,
               monitor::parse_selection(arguments.value_or("metrics", "default")));
  settings.hz = static_cast<uint32_t>(number_option(arguments, "metrics-hz", "10"));
  settings.roots = roots_of(arguments);
  return settings;
}

Status choose_period(const Arguments& arguments, record::Options& options) {
  const auto text = arguments.value("period");
  if (!text) return ok_status();
  if (options.delay_ns != 0 || options.duration_ns != 0) {
    return make_error(ErrorCode::kInvalidArgument, "cannot be combined",
                      "--period and --delay or --duration", "--period says both");
  }
  if (const auto period = parse_period(*text)) {
    options.delay_ns = period->delay_ns;
    options.duration_ns = period->length_ns;
    options.every_ns = period->rate_ns;
    options.rounds = period->count;
  }
  return ok_status();
}

// The agent compiles it again, in each process.
Status choose_window(const Arguments& arguments, record::Options& options) {
  const auto text = arguments.value("window");
  if (!text) return ok_status();
  constexpr std::string_view kMarker = "marker:";
  if (!text->starts_with(kMarker) || text->size() == kMarker.size()) {
    return make_error(ErrorCode::kInvalidArgument, "is not marker:REGEX: " + *text, "--window",
                      "other windows are for reading: sonde kernels --window step:3 trace.rpd");
  }
  options.marker_window = text->substr(kMarker.size());
  regex_t pattern;
  const int wrong = ::regcomp(&pattern, options.marker_window.c_str(), REG_EXTENDED | REG_NOSUB);
  char why[128] = "extended regular expressions have no \\d";
  if (wrong != 0) ::regerror(wrong, &pattern, why, sizeof why);
  if (wrong == 0) ::regfree(&pattern);
  if (wrong != 0 || options.marker_window.find("\\d") != std::string::npos) {
    return make_error(ErrorCode::kInvalidArgument, fmt::format("{}: {}", *text, why), "--window",
                      "for example marker:^decode or marker:step [0-9]+$");
  }
  if (arguments.flag("no-start")) {
    return make_error(ErrorCode::kInvalidArgument, "cannot be combined", "--window and --no-start",
                      "with --window it begins switched off anyway");
  }
  options.start = false;
  options.environment.push_back("SONDE_MARKER_WINDOW=" + options.marker_window);
  return ok_status();
}

Result<record::RotationOptions> rotation_of(const Arguments& arguments) {
  record::RotationOptions rotation;
  rotation.every_ns = time_option(arguments, "rotate");
  rotation.keep = static_cast<int>(number_option(arguments, "keep", "0"));
  rotation.last_ns = time_option(arguments, "last");
  const auto wrong = [](const char* which, const char* hint) {
    return make_error(ErrorCode::kInvalidArgument, "cannot be combined", which, hint);
  };
  for (const char* name : {"rotate", "last"}) {
    if (arguments.value(name) && time_option(arguments, name) == 0) {
      return make_error(ErrorCode::kInvalidArgument, "is not a time", fmt::format("--{}", name),
                        fmt::format("for example --{} 30s", name));
    }
  }
  if (arguments.flag("append") && (rotation.every_ns != 0 || rotation.last_ns != 0)) {
    return wrong("--append and --rotate or --last", "they begin new files");
  }
  if (rotation.last_ns != 0) {
    if (rotation.every_ns != 0 || rotation.keep != 0) {
      return wrong("--last and --rotate or --keep", "--last keeps what it needs");
    }
    rotation.every_ns = std::max(rotation.last_ns / kPartsOfLast, kShortestPartNs);
    rotation.keep = kPartsOfLast + 1;
  }
  if (rotation.keep != 0 && rotation.every_ns == 0) {
    return wrong("--keep without --rotate", "sonde record --rotate 60s --keep 10 -- COMMAND");
  }
  if (rotation.every_ns != 0 && rotation.every_ns < kShortestPartNs) {
    return make_error(ErrorCode::kInvalidArgument, "is less than a second", "--rotate");
  }
  return rotation;
}

Status choose_triggers(const Arguments& arguments, record::RotationOptions& rotation) {
  const auto text = arguments.value("trigger");
  if (!text) return ok_status();
  if (rotation.every_ns == 0) {
    return make_error(ErrorCode::kInvalidArgument, "without --last or --rotate", "--trigger",
                      "sonde record --last 30s --trigger signal:USR2 -- COMMAND");
  }
  constexpr std::string_view kFinding = "finding:";
  for (const auto word : split(*text, ',')) {
    if (word == "signal:USR1") {
      rotation.trigger_signal = SIGUSR1;
    } else if (word == "signal:USR2") {
      rotation.trigger_signal = SIGUSR2;
    } else if (word.starts_with(kFinding) && word.size() > kFinding.size()) {
      SONDE_TRY(chosen_findings(std::string(word.substr(kFinding.size())), "--trigger"));
      rotation.trigger_finding +=
          (rotation.trigger_finding.empty() ? "" : ",") + std::string(word.substr(kFinding.size()));
    } else {
      return make_error(
          ErrorCode::kInvalidArgument,
          fmt::format("'{}' is neither signal:USR1, signal:USR2 nor finding:NAME", word),
          "--trigger", "sonde check --explain lists the findings; finding:any stands for all");
    }
  }
  return ok_status();
}

Result<record::Options> options_of(const Resolved& resolved) {
  const Arguments& arguments = resolved.arguments;
  record::Options options;
  options.output = arguments.value_or("output", "");
  options.append = arguments.flag("append");
  options.overwrite = arguments.flag("overwrite");
  options.name_file = arguments.value_or("name-file", "");
  if (options.append && options.overwrite) {
    return make_error(ErrorCode::kInvalidArgument, "cannot be combined", "--append and --overwrite",
                      "leave one out");
  }
  options.spool_folder = arguments.value_or("spool-dir", "");
  options.buffer_limit = size_option(arguments, "buffer-limit");
  if (arguments.value("orphan-limit")) {
    options.orphan_limit = size_option(arguments, "orphan-limit");
  }
  options.drop_when_full = arguments.value_or("buffer-policy", "grow") == "drop";
  options.max_size = size_option(arguments, "max-size");
  options.start = !arguments.flag("no-start");
  options.delay_ns = time_option(arguments, "delay");
  options.duration_ns = time_option(arguments, "duration");
  SONDE_TRY(choose_period(arguments, options));
  SONDE_TRY(choose_window(arguments, options));
  SONDE_ASSIGN(options.rotation, rotation_of(arguments));
  SONDE_TRY(choose_triggers(arguments, options.rotation));
  options.faults.hang_ns = time_option(arguments, "hang");
  if (options.faults.hang_ns != 0) {  // for the stacks of its threads
    options.environment.push_back(std::string(wire::kBoardHolds) + "=1");
  }
  options.wait = arguments.value_or("wait", "command") == "all" ? record::WaitPolicy::kAll
                                                                : record::WaitPolicy::kNone;
  if (const auto names = arguments.value("backends"); names && *names != "all") {
    options.backends.emplace();
    for (const auto name : split(*names, ',')) options.backends->emplace_back(name);
  }
  options.sample_hz = static_cast<uint32_t>(number_option(arguments, "sample", "100"));
  if (const auto which = arguments.value("python-trace")) {
    options.environment.push_back("SONDE_PYTHON_TRACE=" + (*which == "off" ? "" : *which));
  }
  if (const auto how = arguments.value("torch")) {
    options.environment.push_back("SONDE_TORCH=" + *how);
  }
  options.launch_stacks = arguments.flag("launch-stacks");
  options.sample_blocked = arguments.value_or("sample-clock", "cpu") == "wall";
  SONDE_ASSIGN(options.metrics, metrics_of(resolved));
  const std::string clock = arguments.value_or("clock", "best");
  if (clock == "tsc") options.clock = wire::ClockKind::kTsc;
  if (clock == "monotonic") options.clock = wire::ClockKind::kMonotonic;
  if (clock == "tsc" && wire::best_clock() != wire::ClockKind::kTsc) {
    return make_error(ErrorCode::kUnsupported, "this machine has no TSC to keep time by", "--clock",
                      "leave it out, or give monotonic");
  }
  options.quiet = arguments.flag("quiet");
  options.command = arguments.command_line();
  if (arguments.flag("softgpu") && !options.command.empty()) {
    SONDE_ASSIGN(const std::string launcher, softgpu_launcher());
    options.command.insert(options.command.begin(), {launcher, "--real-time", "--publish", "--"});
  }
  return options;
}

// --pid, which excludes some of the others.
Status choose_process(const Arguments& given, record::Options& options) {
  const auto text = given.value("pid");
  if (!text) return ok_status();
  const auto pid = parse_int(*text);
  if (!pid || *pid < 1 || *pid > INT32_MAX) {
    return make_error(ErrorCode::kInvalidArgument, "'" + *text + "' is not a process", "--pid",
                      "give its number, as ps shows it");
  }
  if (!options.command.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "cannot be combined", "--pid and a command",
                      "leave one out");
  }
  if (options.rotation.every_ns != 0 || options.every_ns != 0 || !options.start ||
      options.delay_ns != 0) {
    return make_error(ErrorCode::kInvalidArgument, "cannot be combined",
                      "--pid and --rotate, --last, --period, --window, --delay or --no-start",
                      "--duration says for how long");
  }
  if (options.faults.hang_ns != 0) {
    return make_error(ErrorCode::kInvalidArgument, "cannot be combined", "--pid and --hang",
                      "Sonde sees what a GPU does only in programs that it has started");
  }
  options.pid = static_cast<pid_t>(*pid);
  return ok_status();
}

Result<int> run(const Arguments& given) {
  SONDE_ASSIGN(const Resolved resolved, resolve(given, ::getenv));
  const Arguments& arguments = resolved.arguments;
  for (const std::string& warning : resolved.warnings) print_error_line("warning: " + warning);
  SONDE_ASSIGN(auto options, options_of(resolved));
  SONDE_TRY(check_trace_name(options.output));
  SONDE_TRY(choose_process(given, options));
  if (options.pid != 0) {
    SONDE_ASSIGN(const record::Outcome outcome, record::attach(options));
    if (!options.quiet || !outcome.kept_session.empty()) print_record_summary(outcome);
    return outcome.kept_session.empty() ? 0 : 1;
  }
  if (options.command.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "no command to record", "",
                      "sonde record -- python train.py");
  }
  auto outcome = [&]() -> Result<record::Outcome> {
    SONDE_ASSIGN(const ProgramLogs logs, ProgramLogs::prepare(arguments, options));
    auto ran = record::run(options);
    if (ran) logs.append_to(*ran, options.quiet);
    return ran;
  }();
  if (!outcome) return not_started(outcome.error());
  if (!options.quiet || !outcome->kept_session.empty()) print_record_summary(*outcome);
  record::exit_like(outcome->exit_status, outcome->signal);
}

constexpr const char* kText = R"(
record - Run a command and record what it does on CPUs and GPUs

Runs COMMAND with Sonde's agent in it and in every process it starts, and writes one trace file. No
flags are needed: Sonde records every interface that it knows and the program uses. The command's
input, output, signals and exit status do not change.

Records first go to chunk files in a session directory, and from there into the trace while the
command runs. If the command is killed, everything it recorded is in the trace; if sonde itself is
killed, the command goes on, and sonde recover finishes the trace. If much is still to be stored
after the command has ended, a second Ctrl-C leaves that to sonde recover too. The command goes on
recording without sonde for --orphan-limit (256 MiB), after which events are counted as lost.

The space for records is limited: see --buffer-limit. Where the session directory is in memory
(tmpfs, as /tmp often is), the limit is a quarter of what the machine and the control groups can
still provide. If there is no space, no file descriptor or no permission, the command goes on, and
the events are counted as lost with that cause, which sonde info shows.

With --pid, Sonde records a process that runs already: its metrics, the C++ and Python call stacks
of all its threads, the calls and operations of HIP, those of HSA and OpenCL on queues that are made
from then on, operators of PyTorch, and markers of ROCTX, NVTX, ITT and sonde.h. Sonde says what it
cannot record of this process, and why. To load its library, it stops one waiting thread for a few
milliseconds, which needs the permission to trace the process (that of its owner, if
kernel.yama.ptrace_scope allows it, or of root). When the recording ends, the process has its
signals, files and threads as before; the library stays in it and does nothing.

Some programs cannot be recorded: statically linked, setuid and 32-bit ones, and those that a
program starts with system() or popen() after it has emptied its own environment. Programs started
with exec or posix_spawn are recorded whatever their environment.

The trace is trace.rpd, or what -o says. In a job of several ranks (torchrun, Open MPI, MPICH, PMI,
Slurm) each has its own: trace.rankN.rpd. An existing file is never overwritten, the next free name
is taken; --overwrite replaces a finished trace.

The name may have keys: %p is the process number of the command, %h the host, %r the rank, %s the
number of ranks, %j the job, %env{NAME}% a variable, and as in ROCm's tools %pid%, %ppid%,
%hostname%, %rank%, %size%, %nid%, %job%, %tag% (the command's name), %argv%, %argt%, %args% and
%launch_time%; %% is a percent sign. Sonde makes folders whose names have keys.

--hip-log and --miopen-log bring the logs of these libraries into the trace: calls in the domains
"hip log" and "miopen log", on threads of their own, beside everything else that is recorded. HIP's
log goes to a file and not to the command's output; MIOpen's lines are taken out of the command's
standard error, which is then not a terminal.

Every option but --pid, --rocprof-sys-config and -I can also be set by an environment variable
(--metrics-hz by SONDE_METRICS_HZ) or, but for --config, in a config file, which sonde config writes
and explains. The command line comes before the environment,
and the environment before the config file; a preset stands for its values at the place where it is
named. --no-FLAG turns off a flag that is set elsewhere.

The command line and the environment are stored in the trace, which only its owner can read (mode
0600). Of the environment, Sonde stores the variables that explain performance (of ROCm, HIP, HSA,
CUDA, NCCL, RCCL, OpenMP, MKL, PyTorch, Slurm and MPI, search paths and locale), and only the names
of all others. It never stores the value of a variable, an option or an argument NAME=VALUE whose
name has TOKEN, KEY, SECRET, PASS, JWT or CREDENTIAL in it, nor the password in a URL. A secret that
is given as a plain argument cannot be recognised: it is stored.

Arguments:
[--] COMMAND...

Options:
--pid PID  instead of a command: record a process that runs, until it ends, --duration is over or
    Ctrl-C [the command]

Examples:
sonde record -- python train.py  record a training run into trace.rpd
sonde record -o run.rpd --delay 30s --duration 10s -- ./solver input.dat
    ten seconds of a long run, after it has warmed up
sonde record --last 30s -- ./server  only the last half minute before it ends or fails
sonde record --pid 4711 --duration 10s  what does that process do?
sonde record --preset light -- ./solver  lowest cost
sonde record --softgpu -- ./hip_program  a HIP program on a machine without an AMD GPU
srun sonde record -- python train.py  every rank of a job into its own trace.rankN.rpd
)";

}  // namespace

Command record_command() {
  Command command = make_command(kText, run);
  command.options = joined(setting_options(), command.options);
  return command;
}

}  // namespace sonde::cli
