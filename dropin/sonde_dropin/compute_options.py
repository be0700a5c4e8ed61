"""The options of rocprof-compute profile and analyze, which omniperf has too."""

from .table import Front, options_of

_PAGE = "sonde sol DIR --format html > FILE writes a page with the charts"

MISSING = {
    "database": "sonde sol DIR --all --format csv or json has the figures for a database",
}


def _analyze(tool):
    return Front(
        f"{tool} analyze", f"{tool} analyze -p DIR... [OPTIONS]",
        "Shows the metrics of a workload with sonde sol, or compares several with the first.", {
            "Input": options_of("""
                -p --path DIR...  folders that profile wrote, the first is the baseline; they are left as they are
                --list-stats  only the kernels, by their time
                --list-metrics GPU  metrics of an architecture, with what they mean
                --list-nodes  nodes of a workload: its sub-folders
                --nodes NODE...  only this node  differs: the first that is named is shown
                -s --specs  facts about the workload's machine, of sysinfo.csv"""),
            "What is shown": options_of("""
                -k --kernel N...  only these kernels, by their place in --list-stats, from 0 on; of several folders,
                    by the place in the first
                -d --dispatch N...  only these dispatches: 0, 4:7, "> 3"  differs: numbers are those of Dispatch_ID
                -b --block ID...  only these panels, tables or metrics: 2, 7.2, 7.2.0; 21, alone, are samples of
                    program counters  differs: of a metric its table is shown
                --gpu-id N  only this GPU
                -n --normal-unit UNIT  what counts are divided by: per_kernel, per_wave, per_cycle, per_second
                --specs-correction NAME:N,...  other facts about the GPU
                    not done: change sysinfo.csv in a copy of the folder
                -g --debug  formulas and what goes into them  not done: sonde sol DIR --explain METRIC shows it
                --report-diff PERCENT  only larger changes
                    not done: all changes are shown; --save-dfs has them for a script
                --pc-sampling-sorting-type WHAT  order of samples of program counters
                    differs: they are by offset; the hottest instruction of each kernel is above them"""),
            "Form": options_of("""
                -t --time-unit UNIT  s, ms, us, ns  differs: times are in the unit that fits them
                --decimal N  digits after the point  differs: that is so in files of --save-dfs; else two
                --max-stat-num N  how many kernels  differs: all are shown
                --cols N...  only these columns  differs: all are shown
                --include-cols NAME...  more columns  differs: sonde sol DIR --explain METRIC describes it
                --kernel-verbose N  how names are shortened  differs: names are whole from 5 on
                -V --verbose  say more  differs: there is no more to say
                -q --quiet  say less"""),
            "Output": options_of(f"""
                -o --output FILE  a new file for the text
                --save-dfs DIR  a new folder for a CSV file of each table
                --gui [PORT]  a page in the browser, on port 8050 of this machine, until Ctrl-C
                    differs: it shows all panels at once and has no menus
                --random-port  any port that is free
                --tui  panes in the terminal  not done: {_PAGE}
                --output-format FORMAT  db: a new SQLite database
                    differs: it has a table for each of those that are shown
                --output-name NAME  name of the database, without .db"""),
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
            "Output": options_of("""
                -n --name NAME  name of the workload
                -p --path DIR  the folder; workloads/NAME/GPU by default. Files that this command wrote there before
                    are replaced, others never
                --subpath WHAT  a folder in it, by gpu_model or node_name
                --format-rocprof-output FORMAT  csv, json, rocpd
                    differs: pmc_perf.csv has a row for each kernel and a column for each counter
                --retain-rocpd-output  keep the databases
                    differs: profile.rpd is kept; sonde export --format rocpd writes one"""),
            "What is counted": options_of("""
                -k --kernel NAME...  kernels in whose name one of these stands
                -d --dispatch N...  these dispatches of each process: 0, 4:7 without the 7
                -b --block ID...  counters of these panels, tables, metrics or blocks: 2, 7.2, 7.2.0, SQ
                    differs: the set of sonde profile that has them is counted: sol for panel 2, memory for 3,
                    roofline for 4, launch for 6 and 7, otherwise all
                --set NAME  compute_thruput_util, compute_thruput_flops, mem_thruput, launch_stats
                    differs: the set of sonde profile that has its metrics is counted: sol, or launch
                --list-sets  list the sets
                --list-metrics GPU  metrics of an architecture, with what they mean
                --join-type WHAT  grid or kernel  differs: passes are joined by kernel, grid and occurrence
                --hip-trace  calls of HIP, which profile.rpd always has
                --kokkos-trace  Kokkos  not done: Sonde does not record it
                --spatial-multiplexing N...  counters spread over GPUs
                    not done: each GPU counts all; --block takes fewer passes"""),
            "Roofline": options_of(f"""
                --no-roof  measure no roofs; else sonde roofs does once for each GPU, and roofline.csv has them
                --roof-only  count only what a roofline needs
                --device N  GPU whose roofs are measured  differs: those of all GPUs that are used are
                -R --roofline-data-type TYPE...  types of the roofs  differs: {_ROOFS}
                --sort WHAT  kernels or dispatches  differs: {_ROOFS}
                -m --mem-level LEVEL...  levels of the roofs  differs: {_ROOFS}
                --kernel-names  a legend of kernels  differs: {_ROOFS}"""),
            "Samples": options_of(f"""
                --pc-sampling-method METHOD  with -b 21: stochastic or host_trap  differs: {_PC}
                --pc-sampling-interval N  with -b 21  differs: {_PC}"""),
            "Process": options_of("""
                -s --specs  facts about this machine  differs: sonde doctor shows them
                -V --verbose  say more  differs: there is no more to say
                -q --quiet  say less"""),
        }, "dashes")


ROCPROF_COMPUTE_PROFILE = _profile("rocprof-compute")
OMNIPERF_PROFILE = _profile("omniperf")
