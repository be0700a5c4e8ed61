// sonde profile: hardware counters of kernels, by running a command once for each set of counters
// that the GPU can count at a time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/demangle.h"
#include "base/join.h"
#include "base/temporary_directory.h"
#include "cli/command.h"
#include "cli/common.h"
#include "cli/counter_choice.h"
#include "cli/program.h"
#include "cli/roofs.h"
#include "cli/terminal.h"
#include "cli/trace_name.h"
#include "cli/workload_options.h"
#include "record/child.h"
#include "record/command.h"
#include "record/launcher.h"
#include "record/record.h"
#include "store/join_counters.h"
#include "trace/name_filter.h"

namespace sonde::cli {
namespace {

using metrics::Pass;

void say(const std::string& text) { print_error_line(text); }

bool runs_on_softgpu(const Arguments& arguments) {
  const auto& command = arguments.command_line();
  if (arguments.flag("softgpu")) return true;
  if (command.empty()) return false;
  const auto program = record::find_command(command[0]);
  return program && record::is_softgpu(*program);
}

// As libc's matcher in the program takes it, which does not know \d.
Result<std::string> kernel_pattern(const Arguments& arguments) {
  const std::string pattern = arguments.value_or("kernel", "");
  if (pattern.empty()) return pattern;
  SONDE_ASSIGN(const trace::NameFilter checked, trace::NameFilter::compile(pattern));
  std::string posix;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const bool digit = pattern[i] == '\\' && i + 1 < pattern.size() && pattern[i + 1] == 'd';
    const bool escape = pattern[i] == '\\' && i + 1 < pattern.size();
    posix += digit ? "[0-9]" : pattern.substr(i, escape ? 2 : 1);
    i += escape ? 1 : 0;
  }
  return posix;
}

// Options of every pass; passes differ in their output and their counters.
Result<record::Options> options_of(const Arguments& arguments) {
  record::Options options;
  options.output = arguments.value_or("output", "");
  SONDE_TRY(check_trace_name(options.output));
  options.overwrite = arguments.flag("overwrite");
  options.name_file = arguments.value_or("name-file", "");
  options.quiet = true;
  options.sample_hz = 0;
  options.backends = {"hsa", "hip", "roctx"};
  options.command = arguments.command_line();
  SONDE_ASSIGN(const std::string kernel, kernel_pattern(arguments));
  if (!kernel.empty()) options.environment.push_back("SONDE_COUNTERS_KERNEL=" + kernel);
  if (const auto dispatches = arguments.value("dispatch")) {
    SONDE_ASSIGN(const auto ranges, dispatch_ranges(*dispatches));
    const std::string text = join(ranges, ",", [](const auto& range) {
      return fmt::format("{}:{}", range.first, range.second);
    });
    options.environment.push_back("SONDE_COUNTERS_DISPATCH=" + text);
  }
  if (!arguments.flag("softgpu")) return options;
  SONDE_ASSIGN(const std::string launcher, softgpu_launcher());
  options.command.insert(options.command.begin(), {launcher, "--"});
  return options;
}

report::Report plan_report(const CounterChoice& choice) {
  using namespace report::columns;
  report::Report report;
  report.name = "profile";
  report.subject = fmt::format("{}", fmt::join(choice.gpus, ", "));
  report::Section section{.key = "passes", .title = "Passes"};
  section.table.add_columns({integer("pass", "Pass"), text("counter", "Counter"),
                             text("block", "Block"), text("class", "Class"),
                             text("about", "Counts")});
  for (size_t i = 0; i < choice.plan.passes.size(); ++i) {
    for (const metrics::PlannedCounter& each : choice.plan.passes[i]) {
      section.table.add_row({static_cast<int64_t>(i + 1), each.name, each.counter->block,
                             each.counter->kind, each.counter->about});
    }
  }
  section.remarks.push_back("passes: " + choice.plan.reason);
  report.sections.push_back(std::move(section));
  return report;
}

void say_plan(const CounterChoice& choice, bool replay) {
  const metrics::Plan& plan = choice.plan;
  size_t counters = 0;
  for (const Pass& pass : plan.passes) counters += pass.size();
  say(fmt::format("{} counter{} in {}: {} runs {} ({})", counters, counters == 1 ? "" : "s",
                  plan.passes.size() == 1 ? "1 pass" : fmt::format("{} passes", plan.passes.size()),
                  replay ? "each kernel" : "the command",
                  plan.passes.size() == 1 ? "once" : fmt::format("{} times", plan.passes.size()),
                  plan.reason));
  if (!plan.missing.empty()) {
    say(fmt::format(
        "not counted by {}{}: {}", fmt::join(choice.gpus, ", "),
        plan.missing.size() > 8 ? fmt::format(", {} counters", plan.missing.size()) : std::string(),
        plan.missing.size() > 8
            ? fmt::format("{} ...", fmt::join(plan.missing.begin(), plan.missing.begin() + 8, " "))
            : fmt::format("{}", fmt::join(plan.missing, " "))));
  }
  if (!plan.dropped.empty()) {
    say(fmt::format("left out for a single pass: {}", fmt::join(plan.dropped, " ")));
  }
}

Result<record::Outcome> run_pass(record::Options options, const metrics::Plan& plan, size_t pass) {
  options.environment.push_back("SONDE_COUNTERS=" + metrics::request_of(plan, pass));
  return record::run(options);
}

// All passes in one run, which runs each kernel again.
Result<record::Outcome> run_with_replay(record::Options options, const metrics::Plan& plan) {
  std::vector<std::string> requests;
  for (size_t pass = 1; pass <= plan.passes.size(); ++pass) {
    requests.push_back(metrics::request_of(plan, pass));
  }
  options.environment.push_back(fmt::format("SONDE_COUNTERS={}", fmt::join(requests, "|")));
  // Else HIP 6 writes arguments into the GPU's memory itself, beside what is restored there.
  options.environment.push_back("HIP_FORCE_DEV_KERNARG=0");
  return record::run(options);
}

void say_counted(const store::CountedTrace& counted, size_t pass) {
  for (const std::string& problem : counted.problems) say(problem);
  for (const std::string& kernel : counted.not_replayed) {
    const size_t name = kernel.find(": ");
    say(fmt::format("not run again, so without the counters of later passes: {}{}",
                    demangle(kernel.substr(0, name)),
                    kernel.substr(std::min(name, kernel.size()))));
  }
  for (const std::string& refused : counted.refused) {
    say(fmt::format("pass {}: refused by the counter library, {}", pass, refused));
  }
  if (counted.spoilt > 0) {
    say(fmt::format("pass {}: {} kernels waited for others and were not counted", pass,
                    counted.spoilt));
  }
}

// softgpu and its options, up to the program that it runs; nothing where the command has none.
std::vector<std::string> launcher_in(const std::vector<std::string>& command) {
  if (command.empty()) return {};
  const auto program = record::find_command(command[0]);
  if (!program || !record::is_softgpu(*program)) return {};
  const auto end = std::find(command.begin(), command.end(), "--");
  return end == command.end() ? std::vector<std::string>()
                              : std::vector<std::string>(command.begin(), end + 1);
}

// Samples where waves are after every so many of their instructions, which only the software GPU
// shows. AMD's driver gives samples only to rocprofiler-sdk.
Status take_pc_samples(const Arguments& arguments, record::Options& options) {
  if (!arguments.value("pc-sample")) return ok_status();
  SONDE_ASSIGN(const auto every, whole_number(arguments, "pc-sample"));
  if (*every < 1) {
    return make_error(ErrorCode::kInvalidArgument, "at least 1 instruction", "--pc-sample");
  }
  if (launcher_in(options.command).empty()) {
    return make_error(ErrorCode::kUnsupported,
                      "program counters can be sampled on a software GPU only", "--pc-sample",
                      "--softgpu runs the command on one");
  }
  const std::vector<std::string> words = {
      "--engine", "isa", "--waves", record::kWavesFile, "--sample-every", std::to_string(*every)};
  options.command.insert(options.command.begin() + 1, words.begin(), words.end());
  options.faults.waves = options.pc_samples = true;
  return ok_status();
}

// The GPUs' roofs as sonde roofs has measured them; measured now if wanted and not done before.
Status add_roofs(const record::Options& options, bool is_wanted, const std::string& trace) {
  SONDE_ASSIGN(std::vector<GpuRoofs> gpus, gpus_of_trace(trace));
  bool all = true;
  for (GpuRoofs& gpu : gpus) all &= find_kept_roofs(gpu);
  if (!all && is_wanted) {
    say("measuring the roofs of the GPUs, once; sonde roofs does it again");
    auto measured = measure_roofs(launcher_in(options.command));
    if (!measured) {
      say(measured.error().to_line());
      return ok_status();
    }
    SONDE_TRY(keep_roofs(*measured));
    gpus = std::move(*measured);
  }
  for (const GpuRoofs& gpu : gpus) {
    const std::string text = join(gpu.values, " ", [](const auto& value) {
      return fmt::format("{}={}", value.first, value.second);
    });
    if (!text.empty()) SONDE_TRY(store::note_roofs(trace, gpu.gpu, text));
  }
  return ok_status();
}

bool has_failed(const record::Outcome& outcome) {
  return outcome.exit_status != 0 || outcome.signal != 0;
}

// The passes behind the first, each into a file of its own whose counters are joined to the trace.
Status run_others(const record::Options& options, const metrics::Plan& plan,
                  const std::string& trace) {
  SONDE_ASSIGN(const TemporaryDirectory folder, TemporaryDirectory::create());
  for (size_t pass = 2; pass <= plan.passes.size(); ++pass) {
    record::Options again = options;
    again.output = fmt::format("{}/pass{}.rpd", folder.path(), pass);
    again.overwrite = false;
    again.name_file.clear();
    SONDE_ASSIGN(const record::Outcome outcome, run_pass(again, plan, pass));
    if (outcome.path.empty() || has_failed(outcome)) {
      say(
          fmt::format("pass {} ended with {}, unlike the first: it is left out, and so are the "
                      "later ones",
                      pass,
                      outcome.signal != 0 ? fmt::format("signal {}", outcome.signal)
                                          : fmt::format("exit status {}", outcome.exit_status)));
      return ok_status();
    }
    SONDE_ASSIGN(const store::CountedTrace counted, store::counted_trace(outcome.path));
    say_counted(counted, pass);
    SONDE_ASSIGN(const store::JoinedCounters joined, store::join_counters(trace, outcome.path));
    if (joined.only_here + joined.only_there == 0) continue;
    say(
        fmt::format("pass {} was not like the first: {} kernels have no counters of it, {} of its "
                    "own have no partner ({})",
                    pass, joined.only_here, joined.only_there, demangle(joined.first_missing)));
  }
  return ok_status();
}

// Program counters alone, in one run without counters.
Result<int> sample(const Arguments& arguments) {
  SONDE_ASSIGN(record::Options options, options_of(arguments));
  SONDE_TRY(take_pc_samples(arguments, options));
  auto outcome = record::run(options);
  if (!outcome) return not_started(outcome.error());
  if (!outcome->path.empty()) {
    say(fmt::format("{}: sonde instructions {} shows the samples", outcome->path, outcome->path));
  }
  record::exit_like(outcome->exit_status, outcome->signal);
}

Result<int> collect(const Arguments& arguments, const CounterChoice& choice) {
  SONDE_ASSIGN(const record::Options options, options_of(arguments));
  record::Options with_samples = options;
  SONDE_TRY(take_pc_samples(arguments, with_samples));
  const bool replay = arguments.flag("replay");
  say_plan(choice, replay);
  auto first =
      replay ? run_with_replay(with_samples, choice.plan) : run_pass(with_samples, choice.plan, 1);
  if (!first) return not_started(first.error());
  if (first->path.empty()) record::exit_like(first->exit_status, first->signal);
  SONDE_ASSIGN(const store::CountedTrace counted, store::counted_trace(first->path));
  say_counted(counted, 1);
  if (counted.counted == 0) {
    print_error_line(fmt::format(
        "{}: {}", first->path,
        counted.kernels == 0 ? "the command ran no kernel on an AMD GPU"
                             : fmt::format("none of {} kernels was counted", counted.kernels)));
    if (has_failed(*first)) record::exit_like(first->exit_status, first->signal);
    return 1;
  }
  if (!has_failed(*first) && !replay) {
    SONDE_TRY(run_others(options, choice.plan, first->path));
  } else if (choice.plan.passes.size() > 1 && !replay) {
    say("the command failed, so it is not run again");
  }
  SONDE_TRY(add_roofs(options, arguments.flag("roofs"), first->path));
  SONDE_TRY(store::note_counting(
      first->path,
      fmt::format("set {}, {} passes{}: {}", choice.set.empty() ? "-" : choice.set,
                  choice.plan.passes.size(), replay ? " by replay" : "", choice.plan.reason)));
  say(fmt::format("{}: {} of {} kernels counted; sonde sol {} shows what bounds them", first->path,
                  counted.counted, counted.kernels, first->path));
  record::exit_like(first->exit_status, first->signal);
}

Result<int> run(const Arguments& arguments) {
  const bool counts = arguments.value("set") || !arguments.values("counter").empty();
  if (arguments.value("pc-sample") && !counts && !arguments.flag("plan") &&
      !arguments.command_line().empty()) {
    return sample(arguments);
  }
  SONDE_ASSIGN(const CounterChoice choice, choose_counters(arguments, runs_on_softgpu(arguments)));
  if (arguments.flag("plan")) return print_report(arguments, plan_report(choice), 0);
  if (arguments.command_line().empty()) {
    return make_error(ErrorCode::kInvalidArgument, "no command to profile", "",
                      "sonde profile -- ./solver");
  }
  if (!runs_on_softgpu(arguments)) SONDE_TRY(check_gpu_access());
  return collect(arguments, choice);
}

constexpr const char* kText = R"(
profile - Count hardware counters of kernels on AMD GPUs

Runs COMMAND, counts what the GPU's hardware counters see in each kernel, and writes one trace that
sonde sol, roofline and check read.

Each block of the GPU can count only a few things at a time, so COMMAND runs once for each pass;
sonde says beforehand how often and why, and --plan only prints the passes. COMMAND's output appears
each time; only the first run has the standard input. Times and everything else in the trace are of
the first run. Counters of the other runs are assigned to the kernel of the same process, GPU, name,
grid and occurrence, and kernels without a counterpart are reported.

With --replay, COMMAND runs once, and each kernel runs again for each further pass. Before each
pass, sonde restores the memory that the program has allocated on its GPUs, their variables, and the
host memory to which the kernel's arguments point. Kernels that cannot be run again are named and
have the counters of the first pass. A kernel that prints does so each time, and threads must not
write to a GPU's memory directly while a kernel runs.

A kernel that is counted runs alone on its GPU, so kernels of several streams do not overlap. The
counters are read through AMD's libhsa-amd-aqlprofile64.so, which the HSA runtime loads. sonde knows
all counters of the list for gfx90a, those that AMD's tools list for gfx908, gfx906 and gfx900, and
none yet for later GPUs.

Arguments:
[--] COMMAND...

Options:
-o, --output FILE  name of the trace, as for sonde record [trace.rpd]
--overwrite  replace an existing trace that is finished
--name-file PATH  write the name of the trace into the file PATH [none]
--set NAME=sol|memory|roofline|launch|all  what sonde sol and sonde roofline need for this [sol, or
    none with --counter]
--counter NAME...  this counter, as sonde avail lists it; several with commas [those of --set]
--single-pass  only what one run of the command can count
--gpu NAME...  plan for this GPU: gfx90a [those of this machine]
--kernel REGEX  only kernels in whose name this extended regular expression is found [all]
--dispatch LIST  only these dispatches of each process, in the order of launching: 0,4:7 [all]
--replay  run the command once, and each kernel once for each pass
--roofs  measure what the GPUs can do at most, as sonde roofs does, if that is not known of them yet
--pc-sample N  sample the program counter of each wave after every N of its instructions, and count
    only with --set or --counter [no samples]
--plan  print the passes and run nothing
--softgpu  run the command on a software GPU
--format --table

Examples:
sonde profile -- ./solver  what sonde sol needs, into trace.rpd
sonde profile --set memory --kernel 'gemm|conv' -o run.rpd -- ./solver
    the memory chart of some kernels
sonde profile --counter SQ_WAVES,TCC_HIT --softgpu -- ./hip_program
    two counters, without an AMD GPU
sonde profile --replay --set all -- ./solver  everything, of a program that cannot run so many times
sonde profile --softgpu --pc-sample 1000 -- ./hip_program
    which instructions run, for sonde instructions
sonde profile --plan --set all --gpu gfx90a  which counters which run would count
)";

}  // namespace

Command profile_command() { return make_command(kText, run); }

}  // namespace sonde::cli
