#include "base/check.h"
#include "cli/command_text.h"
#include "cli/parser.h"
#include "cli/settings.h"

namespace sonde::cli {

namespace {

using enum SettingType;

constexpr const char* kOptions = R"(
--preset NAME=light|training|everything  values for a purpose, unless set otherwise: light costs
    least, training suits long runs, everything records all it can [none]
-o, --output FILE  the trace to write, or the folder for it [trace.rpd]
--append  add to FILE if it is already a trace made by Sonde
--overwrite  replace FILE if it is a trace that is finished
--name-file PATH  write the name of the trace into the file PATH [none]
-q, --quiet  no status line and no summary
--backends LIST  record only these interfaces, e.g. opencl,roctx; or none [all]
--softgpu  run the command on a software AMD GPU, with kernels as slow as the host
--clock CLOCK=best|tsc|monotonic  stamp events with the TSC or with CLOCK_MONOTONIC; best is the TSC
    where it is invariant [best]
--hip-log LEVEL=1|2|3|4|5  have HIP write its log, and bring it into the trace: 3 logs calls, 4
    everything HIP does [no log]
--miopen-log  have MIOpen log its calls, and bring them into the trace
--hang TIME  report, as sonde debug --hang does, when no dispatch has begun or ended for TIME
    although a GPU has work; the program goes on [no report]
--no-start  begin switched off, until sonde start, or sonde_start() in the program
--window marker:REGEX  record only while a ROCTX, NVTX, ITT, sonde.h or Python range is open whose
    name matches this extended regular expression [everything]
--delay TIME  begin recording after TIME [0s]
--duration TIME  stop recording TIME after it began [to the end]
--trigger WHAT,...  with --last or --rotate: write a snapshot when sonde record gets signal:USR2 or
    signal:USR1, or when sonde check finds finding:NAME [none]
--period DELAY:LENGTH:RATE  after DELAY record for LENGTH, and again every RATE; a fourth part says
    how often [all the time]
--wait WHOM=command|all  wait for the command, or for all processes that it started [command]
--sample HZ  take the call stack of every running thread HZ times per second of its CPU time; or off
    [100]
--sample-clock CLOCK=cpu|wall  cpu: running threads only; wall: blocked threads too, without
    signals, by a thread of Sonde in the program [cpu]
--launch-stacks  take the call stack of every call that launches device work, so that GPU time is
    shown by function and line of the program
--torch HOW=auto|native|python|modules|off  record PyTorch's operators and modules natively if Sonde
    was built for that PyTorch, otherwise only modules (auto); through Python, which costs more;
    modules only; or nothing [auto]
--python-trace WHICH  record every call of Python functions: user (not Python's library and
    installed packages), all, or those whose FILE: NAME matches this extended regular expression;
    !REGEX or all!REGEX leaves those out; from Python 3.12 on in the main interpreter only [off]
--metrics LIST  read these metrics of processes, host and GPUs while recording: groups or single
    metrics as sonde avail lists them, all, default, or off [default]
--metrics-hz HZ  how often they are read [10]
--proc-root DIR  read metrics from this folder instead of /proc [/proc]
--sys-root DIR  read metrics from this folder instead of /sys [/sys]
--rotate TIME  begin a new trace every TIME: trace.0001.rpd, trace.0002.rpd ...; sonde merge joins
    them [one trace]
--keep N  keep only the newest N of the traces that --rotate has ended [all]
--last TIME  keep only what was recorded last, up to TIME before the end; sonde snapshot writes it
    while the command runs [everything]
--max-size SIZE  stop recording when the trace has reached SIZE [no limit]
--buffer-limit SIZE  maximum space for records on their way into the trace [half of the free space,
    a quarter of the free memory on tmpfs, 16 GiB at most]
--buffer-policy POLICY=grow|drop  grow up to the limit, or drop from a small one (256 MiB); drops
    are counted [grow]
--orphan-limit SIZE  maximum space for what a program records after sonde record itself was killed
    [256M]
--spool-dir DIR  where the session directory is made; keep it on a local disk [$SONDE_SPOOL_DIR,
    $TMPDIR or /tmp]
)";

// What the options' text does not say, in its order. A preset without a value here leaves the
// setting as it is.
struct Facts {
  const char* name;
  const char* category;
  SettingType type;
  const char* example = "";
  const char* light = nullptr;
  const char* training = nullptr;
  const char* everything = nullptr;
};

constexpr Facts kFacts[] = {
    {.name = "--preset", .category = "general", .type = kChoice, .example = "training"},
    {.name = "--output", .category = "output", .type = kText},
    {.name = "--append", .category = "output", .type = kFlag},
    {.name = "--overwrite", .category = "output", .type = kFlag},
    {.name = "--name-file", .category = "output", .type = kText, .example = "name.txt"},
    {.name = "--quiet", .category = "output", .type = kFlag},
    {.name = "--backends", .category = "recording", .type = kBackends},
    {.name = "--softgpu", .category = "recording", .type = kFlag},
    {.name = "--clock", .category = "recording", .type = kChoice},
    {.name = "--hip-log", .category = "recording", .type = kChoice, .example = "3"},
    {.name = "--miopen-log", .category = "recording", .type = kFlag},
    {.name = "--hang", .category = "recording", .type = kTime, .example = "60s"},
    {.name = "--no-start", .category = "when", .type = kFlag},
    {.name = "--window", .category = "when", .type = kText, .example = "marker:^decode"},
    {.name = "--delay", .category = "when", .type = kTime},
    {.name = "--duration", .category = "when", .type = kTime, .example = "30s"},
    {.name = "--trigger", .category = "when", .type = kText, .example = "signal:USR2"},
    {.name = "--period", .category = "when", .type = kPeriod, .example = "1m:2s:10m"},
    {.name = "--wait", .category = "when", .type = kChoice},
    {.name = "--sample",
     .category = "sampling",
     .type = kRate,
     .light = "20",
     .everything = "1000"},
    {.name = "--sample-clock", .category = "sampling", .type = kChoice, .everything = "wall"},
    {.name = "--launch-stacks", .category = "sampling", .type = kFlag, .everything = "true"},
    {.name = "--torch", .category = "recording", .type = kChoice, .light = "modules"},
    {.name = "--python-trace",
     .category = "sampling",
     .type = kText,
     .example = "user",
     .everything = "user"},
    {.name = "--metrics",
     .category = "metrics",
     .type = kMetrics,
     .light = "process,gpu",
     .everything = "all"},
    {.name = "--metrics-hz",
     .category = "metrics",
     .type = kCount,
     .light = "2",
     .training = "5",
     .everything = "50"},
    {.name = "--proc-root", .category = "metrics", .type = kText},
    {.name = "--sys-root", .category = "metrics", .type = kText},
    {.name = "--rotate", .category = "space", .type = kTime, .example = "60s"},
    {.name = "--keep", .category = "space", .type = kNumber, .example = "10"},
    {.name = "--last", .category = "space", .type = kTime, .example = "30s"},
    {.name = "--max-size", .category = "space", .type = kSize, .example = "8G", .training = "8G"},
    {.name = "--buffer-limit", .category = "space", .type = kSize, .example = "4G"},
    {.name = "--buffer-policy", .category = "space", .type = kChoice},
    {.name = "--orphan-limit", .category = "space", .type = kSize, .example = "1G"},
    {.name = "--spool-dir", .category = "space", .type = kText, .example = "/tmp"},
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (Option& option : read_options(kOptions)) {
    SONDE_CHECK(all.size() < std::size(kFacts));
    const Facts& facts = kFacts[all.size()];
    SONDE_CHECK(longest_name(option) == facts.name);
    if (facts.type == kFlag) {
      const std::string name = key_of(option);
      option.off = name.starts_with("no-") ? "--" + name.substr(3) : "--no-" + name;
    }
    all.push_back({std::move(option), facts.type, facts.category, facts.example, facts.light,
                   facts.training, facts.everything});
  }
  return all;
}

}  // namespace

std::span<const Setting> record_settings() {
  static const std::vector<Setting> kAll = settings();
  return kAll;
}

}  // namespace sonde::cli
