#include "cli/settings.h"

namespace sonde::cli {

namespace {

Setting flag(const std::string& names, const char* category, const std::string& help,
             const char* everything = nullptr) {
  Setting setting{.option = {names, "", help, ""},
                  .type = SettingType::kFlag,
                  .category = category,
                  .everything = everything};
  const std::string name = setting.name();
  setting.option.off = name.rfind("no-", 0) == 0 ? "--" + name.substr(3) : "--no-" + name;
  return setting;
}

std::vector<Setting> recording_settings() {
  return {
      {.option =
           {"--preset",
            "NAME",
            "values for a purpose, unless set otherwise: light costs least, training suits long "
            "runs, everything records all it can",
            "none",
            {"light", "training", "everything"}},
       .type = SettingType::kChoice,
       .category = "general",
       .example = "training"},
      {.option = {"-o,--output", "FILE", "the trace to write, or the folder for it", "trace.rpd"},
       .type = SettingType::kText,
       .category = "output"},
      flag("--append", "output", "add to FILE if it is already a trace made by Sonde"),
      flag("--overwrite", "output", "replace FILE if it is a trace that is finished"),
      {.option = {"--name-file", "PATH", "write the name of the trace into the file PATH", "none"},
       .type = SettingType::kText,
       .category = "output",
       .example = "name.txt"},
      flag("-q,--quiet", "output", "no status line and no summary"),
      {.option = {"--backends", "LIST", "record only these interfaces, e.g. opencl,roctx; or none",
                  "all"},
       .type = SettingType::kBackends,
       .category = "recording"},
      flag("--softgpu", "recording",
           "run the command on a software AMD GPU, with kernels as slow as the host"),
      {.option = {"--clock",
                  "CLOCK",
                  "stamp events with the TSC or with CLOCK_MONOTONIC; best is the TSC where it is "
                  "invariant",
                  "best",
                  {"best", "tsc", "monotonic"}},
       .type = SettingType::kChoice,
       .category = "recording"},
      {.option = {"--hip-log",
                  "LEVEL",
                  "have HIP write its log, and bring it into the trace: 3 logs calls, 4 "
                  "everything HIP does",
                  "no log",
                  {"1", "2", "3", "4", "5"}},
       .type = SettingType::kChoice,
       .category = "recording",
       .example = "3"},
      flag("--miopen-log", "recording", "have MIOpen log its calls, and bring them into the trace"),
      {.option =
           {"--hang", "TIME",
            "report, as sonde debug --hang does, when no dispatch has begun or ended for TIME "
            "although a GPU has work; the program goes on",
            "no report"},
       .type = SettingType::kTime,
       .category = "recording",
       .example = "60s"},
  };
}

std::vector<Setting> when_settings() {
  return {
      flag("--no-start", "when",
           "begin switched off; the program starts recording with sonde_start()"),
      {.option = {"--window", "marker:REGEX",
                  "record only while a range is open that matches: an extended regular expression, "
                  "of ROCTX, NVTX, ITT, sonde.h and Python markers",
                  "everything"},
       .type = SettingType::kText,
       .category = "when",
       .example = "marker:^decode"},
      {.option = {"--delay", "TIME", "begin recording after TIME", "0s"},
       .type = SettingType::kTime,
       .category = "when"},
      {.option = {"--duration", "TIME", "stop recording TIME after it began", "to the end"},
       .type = SettingType::kTime,
       .category = "when",
       .example = "30s"},
      {.option = {"--trigger", "WHAT,...",
                  "with --last or --rotate: write a snapshot at signal:USR2 or signal:USR1 to the "
                  "recorder, or when sonde check finds finding:NAME",
                  "none"},
       .type = SettingType::kText,
       .category = "when",
       .example = "signal:USR2"},
      {.option =
           {"--period", "DELAY:LENGTH:RATE",
            "after DELAY record for LENGTH, and again every RATE; a fourth part says how often",
            "all the time"},
       .type = SettingType::kPeriod,
       .category = "when",
       .example = "1m:2s:10m"},
      {.option = {"--wait",
                  "WHOM",
                  "wait for the command, or for all processes that it started",
                  "command",
                  {"command", "all"}},
       .type = SettingType::kChoice,
       .category = "when"},
  };
}

std::vector<Setting> sampling_settings() {
  return {
      {.option =
           {"--sample", "HZ",
            "take the call stack of every running thread HZ times per second of its CPU time; "
            "or off",
            "100"},
       .type = SettingType::kRate,
       .category = "sampling",
       .light = "20",
       .everything = "1000"},
      {.option = {"--sample-clock",
                  "CLOCK",
                  "cpu: running threads only; wall: blocked threads too, without signals, by a "
                  "thread of Sonde in the program",
                  "cpu",
                  {"cpu", "wall"}},
       .type = SettingType::kChoice,
       .category = "sampling",
       .everything = "wall"},
      flag("--launch-stacks", "sampling",
           "take the call stack of every call that launches device work, so that GPU time is "
           "shown by function and line of the program",
           "true"),
      {.option = {"--torch",
                  "HOW",
                  "record PyTorch's operators and modules natively if Sonde was built for that "
                  "PyTorch, otherwise only modules (auto); through Python, which costs more; "
                  "modules only; or nothing",
                  "auto",
                  {"auto", "native", "python", "modules", "off"}},
       .type = SettingType::kChoice,
       .category = "recording",
       .light = "modules"},
      {.option =
           {"--python-trace", "WHICH",
            "record every call of Python functions: user (not Python's library and installed "
            "packages), all, or those whose FILE: NAME matches this extended regular expression; "
            "!REGEX or all!REGEX leaves those out",
            "off"},
       .type = SettingType::kText,
       .category = "sampling",
       .example = "user",
       .everything = "user"},
  };
}

std::vector<Setting> metrics_settings() {
  return {
      {.option =
           {"--metrics", "LIST",
            "read these metrics of processes, host and GPUs while recording: groups or single "
            "metrics as sonde avail lists them, all, default, or off",
            "default"},
       .type = SettingType::kMetrics,
       .category = "metrics",
       .light = "process,gpu",
       .everything = "all"},
      {.option = {"--metrics-hz", "HZ", "how often they are read", "10"},
       .type = SettingType::kCount,
       .category = "metrics",
       .light = "2",
       .training = "5",
       .everything = "50"},
      {.option = {"--proc-root", "DIR", "read metrics from this folder instead of /proc", "/proc"},
       .type = SettingType::kText,
       .category = "metrics"},
      {.option = {"--sys-root", "DIR", "read metrics from this folder instead of /sys", "/sys"},
       .type = SettingType::kText,
       .category = "metrics"},
  };
}

std::vector<Setting> space_settings() {
  return {
      {.option = {"--rotate", "TIME",
                  "begin a new trace every TIME: trace.0001.rpd, trace.0002.rpd ...; sonde merge "
                  "joins them",
                  "one trace"},
       .type = SettingType::kTime,
       .category = "space",
       .example = "60s"},
      {.option = {"--keep", "N", "keep only the newest N of the traces that --rotate has ended",
                  "all"},
       .type = SettingType::kNumber,
       .category = "space",
       .example = "10"},
      {.option = {"--last", "TIME",
                  "keep only what was recorded last, up to TIME before the end; sonde snapshot "
                  "writes it while the command runs",
                  "everything"},
       .type = SettingType::kTime,
       .category = "space",
       .example = "30s"},
      {.option = {"--max-size", "SIZE", "stop recording when the trace has reached SIZE",
                  "no limit"},
       .type = SettingType::kSize,
       .category = "space",
       .example = "8G",
       .training = "8G"},
      {.option = {"--buffer-limit", "SIZE", "maximum space for records on their way into the trace",
                  "half of the free space, a quarter of the free memory on tmpfs, 16 GiB at most"},
       .type = SettingType::kSize,
       .category = "space",
       .example = "4G"},
      {.option = {"--buffer-policy",
                  "POLICY",
                  "grow up to the limit, or drop from a small one (256 MiB); drops are counted",
                  "grow",
                  {"grow", "drop"}},
       .type = SettingType::kChoice,
       .category = "space"},
      {.option = {"--orphan-limit", "SIZE",
                  "maximum space for what a program records after sonde record itself was killed",
                  "256M"},
       .type = SettingType::kSize,
       .category = "space",
       .example = "1G"},
      {.option = {"--spool-dir", "DIR",
                  "where the session directory is made; keep it on a local disk",
                  "$SONDE_SPOOL_DIR, $TMPDIR or /tmp"},
       .type = SettingType::kText,
       .category = "space",
       .example = "/tmp"},
  };
}

std::vector<Setting> joined_settings() {
  std::vector<Setting> all = recording_settings();
  for (auto* const more : {when_settings, sampling_settings, metrics_settings, space_settings}) {
    for (Setting& setting : more()) all.push_back(std::move(setting));
  }
  return all;
}

}  // namespace

std::span<const Setting> record_settings() {
  static const std::vector<Setting> kAll = joined_settings();
  return kAll;
}

}  // namespace sonde::cli
