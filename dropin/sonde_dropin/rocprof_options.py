"""The options of rocprof v1."""

from .table import NEAR, REFUSED, SAME, Front, Option

_NO_OWN = "Sonde has no metrics of one's own; rocprof --list-derived lists those there are"

ROCPROF = Front(
    "rocprof", "rocprof [OPTIONS] APP [ARGUMENTS...]",
    "Runs APP and leaves the files of rocprof v1, from a recording by sonde record that stays beside "
    "them (out.rpd).", {
        "Files": [
            Option("-i", "FILE", NEAR, "input file (.txt, .xml)", "with pmc: kernels are counted by sonde "
                   "profile, which plans how often APP runs; without it, all kernels of all GPUs are recorded"),
            Option("-o", "FILE", SAME, "the CSV file; the others are named after it. By default that of -i, or "
                   "results.csv"),
            Option("-d", "DIR", NEAR, "folder of intermediate data", "there is none; the trace is beside the CSV "
                   "file"),
            Option("-t", "DIR", NEAR, "temporary folder", "not used; SONDE_SPOOL_DIR says where records wait"),
        ],
        "Traces": [
            Option("--hip-trace", "", SAME, "calls of HIP: out.hip_stats.csv, out.copy_stats.csv, out.json (as "
                   "Sonde writes Chrome JSON)", sets=("hip", "stats", "json")),
            Option("--hsa-trace", "", SAME, "calls of HSA: out.hsa_stats.csv, out.copy_stats.csv, out.json",
                   sets=("hsa", "stats", "json")),
            Option("--sys-trace", "", SAME, "calls of HIP and HSA", sets=("hip", "hsa", "stats", "json")),
            Option("--roctx-trace", "", SAME, "ranges of ROCTX, in out.json", sets=("roctx", "json")),
            Option("--stats", "", SAME, "statistics of kernels: out.stats.csv", sets=("stats",)),
            Option("--timestamp", "on|off", SAME, "times of kernels in out.csv"),
            Option("--basenames", "on|off", SAME, "names of kernels without arguments and templates"),
            Option("--roctx-rename", "", NEAR, "name kernels after their range", "kernels keep their names; sonde "
                   "kernels --by marker groups them by their ranges"),
            Option("--trace-start", "on|off", SAME, "off: the program starts recording (sonde_start, "
                   "roctxProfilerResume)"),
            Option("--trace-period", "DELAY:LENGTH:RATE", SAME, "after DELAY record for LENGTH, and again every RATE, "
                   "each time with its unit: 1s:500ms:10s"),
            Option("--obj-tracking", "on|off", SAME, "code objects are always known"),
            Option("--flush-rate", "TIME", SAME, "records leave the program at once anyhow"),
            Option("--parallel-kernels", "", SAME, "kernels are not serialised anyhow"),
        ],
        "Process": [
            Option("--tool-version", "1|2", NEAR, "rocprof or rocprofv2", "there is one recorder for both, and the files "
                   "are those of version 1"),
            Option("--verbose", "", NEAR, "more output", "there is none"),
            Option("--cmd-qts", "on|off", NEAR, "quoting of arguments", "arguments are passed on as they are"),
            Option("--ctx-wait", "on|off", NEAR, "wait for contexts", "nothing is waited for"),
            Option("--ctx-limit", "N", NEAR, "most contexts", "there is no limit"),
            Option("--heartbeat", "SECONDS", NEAR, "print a sign of life", "none is printed"),
        ],
        "Counters": [
            Option("-m", "FILE", REFUSED, "metrics", _NO_OWN),
            Option("--list-basic", "", NEAR, "basic counters", "the list is that of sonde avail --category counters",
                   sets=("list",)),
            Option("--list-derived", "", SAME, "derived metrics: name, meaning and formula", sets=("list",)),
            Option("--merge-traces", "", REFUSED, "merge folders of traces",
                   "sonde merge FILE.rpd... brings traces together"),
        ],
    }, "word")
