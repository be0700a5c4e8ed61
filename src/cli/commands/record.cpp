// sonde record: the command line of recording, and the summary at its end.
#include <fmt/format.h>

#include <filesystem>

#include "base/strings.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/program_logs.h"
#include "cli/record_summary.h"
#include "record/child.h"
#include "record/record.h"
#include "wire/session.h"

namespace sonde::cli {

namespace {

Error bad_value(const char* option, const std::string& text, const char* hint) {
  return make_error(ErrorCode::kInvalidArgument, "'" + text + "' is not a valid value", option,
                    hint);
}

Result<uint64_t> size_option(const Arguments& arguments, const char* name) {
  const auto text = arguments.value(name);
  if (!text) return uint64_t{0};
  const auto bytes = parse_size(*text);
  if (!bytes || *bytes == 0) {
    return bad_value((std::string("--") + name).c_str(), *text, "a size, like 512M or 4G");
  }
  return *bytes;
}

Result<int64_t> time_option(const Arguments& arguments, const char* name) {
  const auto text = arguments.value(name);
  if (!text) return int64_t{0};
  const auto time = parse_duration_ns(*text, 1'000'000'000);
  if (!time || *time < 0) {
    return bad_value((std::string("--") + name).c_str(), *text, "a time, like 500ms or 30s");
  }
  return *time;
}

// Above this the samples are of the sampler.
constexpr int64_t kMostHz = 10'000;

Result<uint32_t> rate_option(const Arguments& arguments) {
  const std::string text = arguments.value_or("sample", "100");
  if (text == "off") return uint32_t{0};
  const auto hz = parse_int(text);
  if (!hz || *hz < 0 || *hz > kMostHz) {
    return bad_value("--sample", text, "samples per second, up to 10000, or off");
  }
  return static_cast<uint32_t>(*hz);
}

// Faster than this, reading them would be the work of a core.
constexpr int64_t kMostMetricsHz = 1000;

Result<monitor::Settings> metrics_option(const Arguments& arguments) {
  monitor::Settings settings;
  settings.list = arguments.value_or("metrics", "");
  SONDE_ASSIGN(settings.metrics,
               monitor::parse_selection(settings.list.empty() ? "default" : settings.list));
  const std::string text = arguments.value_or("metrics-hz", "10");
  const auto hz = parse_int(text);
  if (!hz || *hz < 1 || *hz > kMostMetricsHz) {
    return bad_value("--metrics-hz", text, "times per second, from 1 to 1000");
  }
  settings.hz = static_cast<uint32_t>(*hz);
  settings.roots.proc = arguments.value_or("proc-root", settings.roots.proc);
  settings.roots.sys = arguments.value_or("sys-root", settings.roots.sys);
  return settings;
}

// The software GPU's launcher, installed beside sonde.
Result<std::string> softgpu_launcher() {
  std::error_code error;
  const auto tool = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto launcher = tool.parent_path() / "softgpu";
  if (!error && std::filesystem::exists(launcher, error)) return launcher.string();
  return make_error(ErrorCode::kUnsupported, "this build has no software GPU", "--softgpu",
                    "./dev build installs what it needs");
}

Result<record::Options> options_of(const Arguments& arguments) {
  record::Options options;
  options.output = arguments.value_or("output", "");
  options.append = arguments.flag("append");
  options.spool_folder = arguments.value_or("spool-dir", "");
  SONDE_ASSIGN(options.buffer_limit, size_option(arguments, "buffer-limit"));
  options.drop_when_full = arguments.value_or("buffer-policy", "grow") == "drop";
  SONDE_ASSIGN(options.max_size, size_option(arguments, "max-size"));
  options.start = !arguments.flag("no-start");
  SONDE_ASSIGN(options.delay_ns, time_option(arguments, "delay"));
  SONDE_ASSIGN(options.duration_ns, time_option(arguments, "duration"));
  options.wait = arguments.value_or("wait", "command") == "all" ? record::WaitPolicy::kAll
                                                                : record::WaitPolicy::kNone;
  if (const auto names = arguments.value("backends")) {
    options.backends.emplace();
    for (const auto name : split(*names, ',')) options.backends->emplace_back(name);
  }
  SONDE_ASSIGN(options.sample_hz, rate_option(arguments));
  if (const auto which = arguments.value("python-trace")) {
    options.environment.push_back("SONDE_PYTHON_TRACE=" + std::string(*which));
  }
  options.sample_blocked = arguments.value_or("sample-clock", "cpu") == "wall";
  SONDE_ASSIGN(options.metrics, metrics_option(arguments));
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

Result<int> run(const Arguments& arguments) {
  SONDE_ASSIGN(auto options, options_of(arguments));
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
  if (!outcome) {
    // The shell's exit statuses for a command that could not be run.
    const ErrorCode code = outcome.error().code;
    const bool shell_error = code == ErrorCode::kNotFound || code == ErrorCode::kUnsupported;
    if (!shell_error) return std::move(outcome).error();
    fmt::print(stderr, "sonde: {}\n", outcome.error().to_line());
    return code == ErrorCode::kNotFound ? 127 : 126;
  }
  if (!options.quiet || !outcome->kept_session.empty()) print_record_summary(*outcome);
  record::exit_like(outcome->exit_status, outcome->signal);
}

}  // namespace

const Command& record_command() {
  static const Command kCommand = {
      .name = "record",
      .group = "Record",
      .summary = "Run a command and record what it does on CPUs and GPUs",
      .description =
          "Runs COMMAND with Sonde's agent in it and in every process it starts, and writes one "
          "trace file. No flags are needed: every interface that Sonde knows is watched where it "
          "is used. The command's input, output, signals and exit status are its own.\n\n"
          "Records go to chunk files in a session directory first, from where they are brought "
          "into the trace while the command runs. If the command is killed, everything it recorded "
          "is in the trace; if sonde itself is killed, the command goes on, and sonde recover "
          "finishes the trace. When much is still to be stored after the command has ended, a second "
          "Ctrl-C leaves that to sonde recover as well.\n\n"
          "Some programs cannot be recorded: statically linked, setuid and 32-bit ones, and those "
          "that a program starts with system() or popen() after it has "
          "emptied its own environment. What it starts with exec or posix_spawn is recorded with "
          "any environment.\n\n"
          "The trace is trace.rpd, or what -o says. In a job of several ranks (torchrun, Open MPI, "
          "MPICH, PMI, Slurm) each has its own: trace.rankN.rpd. An existing file is never "
          "overwritten: the next free name is taken.\n\n"
          "--hip-log and --miopen-log bring what these libraries log of themselves into the trace: "
          "calls of the domains \"hip log\" and \"miopen log\", on threads of their own, beside "
          "what is recorded anyhow. The log of HIP goes to a file and not to the command's output; "
          "MIOpen's lines are taken out of the command's standard error, which is no terminal "
          "then.\n\n"
          "The command line and the environment are stored in the trace; values that look like "
          "secrets are left out.",
      .options = joined(
          {{"-o,--output", "FILE", "the trace to write, or the folder for it", "trace.rpd"},
           {"--append", "", "add to FILE if it is a trace of Sonde's already", ""},
           {"--backends", "LIST", "watch only these interfaces, e.g. opencl,roctx; or none", "all"},
           {"--sample", "HZ",
            "take the call stack of every running thread HZ times per second of its CPU time; or "
            "off",
            "100"},
           {"--sample-clock",
            "CLOCK",
            "cpu: running threads only; wall: blocked threads are looked at too, without signals, by "
            "a thread of Sonde's in the program",
            "cpu",
            {"cpu", "wall"}},
           {"--metrics", "LIST",
            "read these metrics of processes, host and GPUs while recording: groups or single ones "
            "as sonde avail lists them, all, default, or off",
            "default"},
           {"--metrics-hz", "HZ", "how often they are read", "10"},
           {"--proc-root", "DIR", "read metrics from this folder instead of /proc", "/proc"},
           {"--sys-root", "DIR", "read metrics from this folder instead of /sys", "/sys"},
           {"--python-trace", "WHICH",
            "record every call of Python functions: user (not Python's library and installed "
            "packages), all, or those in whose FILE: NAME this extended regular expression is found",
            "off"},
           {"--softgpu", "",
            "run the command on a software AMD GPU, with kernels as slow as the host", ""},
           {"--no-start", "", "begin switched off; the program starts recording with sonde_start()",
            ""},
           {"--delay", "TIME", "begin recording after TIME", "0s"},
           {"--duration", "TIME", "stop recording TIME after it began", "to the end"},
           {"--max-size", "SIZE", "stop recording when the trace has reached SIZE", "no limit"},
           {"--wait",
            "WHOM",
            "wait for the command, or for all processes that it started",
            "command",
            {"command", "all"}},
           {"--buffer-limit", "SIZE", "most space for records on their way into the trace",
            "half of the free space, 16 GiB at most"},
           {"--buffer-policy",
            "POLICY",
            "grow up to the limit, or drop from a small one (256 MiB); drops are counted",
            "grow",
            {"grow", "drop"}},
           {"--clock",
            "CLOCK",
            "stamp events with the TSC or with CLOCK_MONOTONIC; best is the TSC "
            "where it is invariant",
            "best",
            {"best", "tsc", "monotonic"}},
           {"--spool-dir", "DIR", "where the session directory is made; keep it on a local disk",
            "$SONDE_SPOOL_DIR, $TMPDIR or /tmp"},
           {"-q,--quiet", "", "no status line and no summary", ""}},
          program_log_options()),
      .examples = {{"sonde record -- python train.py", "record a training run into trace.rpd"},
                   {"sonde record -o run.rpd --delay 30s --duration 10s -- ./solver input.dat",
                    "ten seconds of a long run, after it has warmed up"},
                   {"sonde record --softgpu -- ./hip_program",
                    "a HIP program on a machine without an AMD GPU"},
                   {"srun sonde record -- python train.py",
                    "every rank of a job into its own trace.rankN.rpd"}},
      .takes_command_line = true,
      .run = run};
  return kCommand;
}

}  // namespace sonde::cli
