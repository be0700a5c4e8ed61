"""The options of rocprof-compute profile and analyze, which omniperf has too."""

from .table import NEAR, REFUSED, SAME, Front, Option

_PAGE = "sonde sol DIR --format html > FILE writes a page with the charts"

MISSING = {
    "database": "sonde sol DIR --all --format csv or json has the figures for a database",
}


def _analyze(tool):
    return Front(
        f"{tool} analyze", f"{tool} analyze -p DIR... [OPTIONS]",
        "Shows the metrics of a workload with sonde sol, or compares several with the first.", {
            "Input": [
                Option("-p --path", "DIR...", SAME, "folders that profile wrote, the first is the baseline; they are "
                       "left as they are"),
                Option("--list-stats", "", SAME, "only the kernels, by their time"),
                Option("--list-metrics", "GPU", SAME, "metrics of an architecture, with what they mean"),
                Option("--list-nodes", "", SAME, "nodes of a workload: its sub-folders"),
                Option("--nodes", "NODE...", NEAR, "only this node", "the first that is named is shown"),
                Option("-s --specs", "", SAME, "facts about the workload's machine, of sysinfo.csv"),
            ],
            "What is shown": [
                Option("-k --kernel", "N...", SAME, "only these kernels, by their place in --list-stats, from 0 on; "
                       "of several folders, by the place in the first"),
                Option("-d --dispatch", "N...", NEAR, "only these dispatches: 0, 4:7, \"> 3\"",
                       "numbers are those of Dispatch_ID"),
                Option("-b --block", "ID...", NEAR, "only these panels, tables or metrics: 2, 7.2, 7.2.0; 21, alone, "
                       "are samples of program counters", "of a metric its table is shown"),
                Option("--gpu-id", "N", SAME, "only this GPU"),
                Option("-n --normal-unit", "UNIT", SAME, "what counts are divided by: per_kernel, per_wave, per_cycle, "
                       "per_second"),
                Option("--specs-correction", "NAME:N,...", REFUSED, "other facts about the GPU",
                       "change sysinfo.csv in a copy of the folder"),
                Option("-g --debug", "", REFUSED, "formulas and what goes into them",
                       "sonde sol DIR --explain METRIC shows it"),
                Option("--report-diff", "PERCENT", REFUSED, "only larger changes",
                       "all changes are shown; --save-dfs has them for a script"),
                Option("--pc-sampling-sorting-type", "WHAT", NEAR, "order of samples of program counters",
                       "they are by offset; the hottest instruction of each kernel is above them"),
            ],
            "Form": [
                Option("-t --time-unit", "UNIT", NEAR, "s, ms, us, ns", "times are in the unit that fits them"),
                Option("--decimal", "N", NEAR, "digits after the point", "that is so in files of --save-dfs; else two"),
                Option("--max-stat-num", "N", NEAR, "how many kernels", "all are shown"),
                Option("--cols", "N...", NEAR, "only these columns", "all are shown"),
                Option("--include-cols", "NAME...", NEAR, "more columns", "sonde sol DIR --explain METRIC describes it"),
                Option("--kernel-verbose", "N", NEAR, "how names are shortened", "names are whole from 5 on"),
                Option("-V --verbose", "", NEAR, "say more", "there is no more to say"),
                Option("-q --quiet", "", SAME, "say less"),
            ],
            "Output": [
                Option("-o --output", "FILE", SAME, "a new file for the text"),
                Option("--save-dfs", "DIR", SAME, "a new folder for a CSV file of each table"),
                Option("--gui", "[PORT]", NEAR, "a page in the browser, on port 8050 of this machine, until Ctrl-C",
                       "it shows all panels at once and has no menus"),
                Option("--random-port", "", SAME, "any port that is free"),
                Option("--tui", "", REFUSED, "panes in the terminal", _PAGE),
                Option("--output-format", "FORMAT", NEAR, "db: a new SQLite database", "it has a table for each of "
                       "those that are shown"),
                Option("--output-name", "NAME", SAME, "name of the database, without .db"),
            ],
        })


ROCPROF_COMPUTE = _analyze("rocprof-compute")
OMNIPERF = _analyze("omniperf")


_ROOFS = "sonde roofline DIR --format html > FILE draws the picture, with options of its own"
_PC = "samples are taken on a software GPU only, after every N instructions of a wave, 1000 by default"


def _profile(tool):
    return Front(
        f"{tool} profile", f"{tool} profile -n NAME [OPTIONS] -- APP [ARGUMENTS...]",
        "Counts hardware counters of APP's kernels with sonde profile, and writes them as a workload folder:\n"
        "pmc_perf.csv, sysinfo.csv, roofline.csv, profiling_config.yaml, log.txt, perfmon and the trace, profile.rpd.", {
            "Output": [
                Option("-n --name", "NAME", SAME, "name of the workload"),
                Option("-p --path", "DIR", SAME, "the folder; workloads/NAME/GPU by default. Files that this command "
                       "wrote there before are replaced, others never"),
                Option("--subpath", "WHAT", SAME, "a folder in it, by gpu_model or node_name"),
                Option("--format-rocprof-output", "FORMAT", NEAR, "csv, json, rocpd", "pmc_perf.csv has a row for each "
                       "kernel and a column for each counter"),
                Option("--retain-rocpd-output", "", NEAR, "keep the databases", "profile.rpd is kept; sonde export --format "
                       "rocpd writes one"),
            ],
            "What is counted": [
                Option("-k --kernel", "NAME...", SAME, "kernels in whose name one of these stands"),
                Option("-d --dispatch", "N...", SAME, "these dispatches of each process: 0, 4:7 without the 7"),
                Option("-b --block", "ID...", NEAR, "counters of these panels, tables, metrics or blocks: 2, 7.2, 7.2.0, SQ",
                       "the set of sonde profile that has them is counted: sol for panel 2, memory for 3, roofline "
                       "for 4, launch for 6 and 7, otherwise all"),
                Option("--set", "NAME", NEAR, "compute_thruput_util, compute_thruput_flops, mem_thruput, launch_stats",
                       "the set of sonde profile that has its metrics is counted: sol, or launch"),
                Option("--list-sets", "", SAME, "list the sets"),
                Option("--list-metrics", "GPU", SAME, "metrics of an architecture, with what they mean"),
                Option("--join-type", "WHAT", NEAR, "grid or kernel", "passes are joined by kernel, grid and occurrence"),
                Option("--hip-trace", "", SAME, "calls of HIP, which profile.rpd always has"),
                Option("--kokkos-trace", "", REFUSED, "Kokkos", "Sonde does not record it"),
                Option("--spatial-multiplexing", "N...", REFUSED, "counters spread over GPUs",
                       "each GPU counts all; --block takes fewer passes"),
            ],
            "Roofline": [
                Option("--no-roof", "", SAME, "measure no roofs; else sonde roofs does once for each GPU, and roofline.csv "
                       "has them"),
                Option("--roof-only", "", SAME, "count only what a roofline needs"),
                Option("--device", "N", NEAR, "GPU whose roofs are measured", "those of all GPUs that are used are"),
                Option("-R --roofline-data-type", "TYPE...", NEAR, "types of the roofs", _ROOFS),
                Option("--sort", "WHAT", NEAR, "kernels or dispatches", _ROOFS),
                Option("-m --mem-level", "LEVEL...", NEAR, "levels of the roofs", _ROOFS),
                Option("--kernel-names", "", NEAR, "a legend of kernels", _ROOFS),
            ],
            "Samples": [
                Option("--pc-sampling-method", "METHOD", NEAR, "with -b 21: stochastic or host_trap", _PC),
                Option("--pc-sampling-interval", "N", NEAR, "with -b 21", _PC),
            ],
            "Process": [
                Option("-s --specs", "", NEAR, "facts about this machine", "sonde doctor shows them"),
                Option("-V --verbose", "", NEAR, "say more", "there is no more to say"),
                Option("-q --quiet", "", SAME, "say less"),
            ],
        }, "dashes")


ROCPROF_COMPUTE_PROFILE = _profile("rocprof-compute")
OMNIPERF_PROFILE = _profile("omniperf")
