"""The options of rocprof v1."""

from .table import Front, options_of

_NO_OWN = "Sonde has no metrics of one's own; rocprof --list-derived lists those there are"

ROCPROF = Front(
    "rocprof", "rocprof [OPTIONS] APP [ARGUMENTS...]",
    "Runs APP and leaves the files of rocprof v1, from a recording by sonde record that stays beside "
    "them (out.rpd).", {
        "Files": options_of("""
            -i FILE  input file (.txt, .xml)
                differs: with pmc: kernels are counted by sonde profile, which plans how often APP runs; without it,
                all kernels of all GPUs are recorded
            -o FILE  the CSV file; the others are named after it. By default that of -i, or results.csv
            -d DIR  folder of intermediate data  differs: there is none; the trace is beside the CSV file
            -t DIR  temporary folder  differs: not used; SONDE_SPOOL_DIR says where records wait"""),
        "Traces": options_of("""
            --hip-trace  calls of HIP: out.hip_stats.csv, out.copy_stats.csv, out.json (as Sonde writes Chrome JSON)
                sets: hip stats json
            --hsa-trace  calls of HSA: out.hsa_stats.csv, out.copy_stats.csv, out.json  sets: hsa stats json
            --sys-trace  calls of HIP and HSA  sets: hip hsa stats json
            --roctx-trace  ranges of ROCTX, in out.json  sets: roctx json
            --stats  statistics of kernels: out.stats.csv  sets: stats
            --timestamp on|off  times of kernels in out.csv
            --basenames on|off  names of kernels without arguments and templates
            --roctx-rename  name kernels after their range
                differs: kernels keep their names; sonde kernels --by marker groups them by their ranges
            --trace-start on|off  off: the program starts recording (sonde_start, roctxProfilerResume)
            --trace-period DELAY:LENGTH:RATE  after DELAY record for LENGTH, and again every RATE, each time with
                its unit: 1s:500ms:10s
            --obj-tracking on|off  code objects are always known
            --flush-rate TIME  records leave the program at once anyhow
            --parallel-kernels  kernels are not serialised anyhow"""),
        "Process": options_of("""
            --tool-version 1|2  rocprof or rocprofv2
                differs: there is one recorder for both, and the files are those of version 1
            --verbose  more output  differs: there is none
            --cmd-qts on|off  quoting of arguments  differs: arguments are passed on as they are
            --ctx-wait on|off  wait for contexts  differs: nothing is waited for
            --ctx-limit N  most contexts  differs: there is no limit
            --heartbeat SECONDS  print a sign of life  differs: none is printed"""),
        "Counters": options_of(f"""
            -m FILE  metrics  not done: {_NO_OWN}
            --list-basic  basic counters  differs: the list is that of sonde avail --category counters  sets: list
            --list-derived  derived metrics: name, meaning and formula  sets: list
            --merge-traces  merge folders of traces  not done: sonde merge FILE.rpd... brings traces together"""),
    }, "word")
