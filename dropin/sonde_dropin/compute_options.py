"""The options of rocprof-compute analyze, which omniperf analyze has too."""

from .table import NEAR, REFUSED, SAME, Front, Option

_PAGE = "sonde sol DIR --format html > FILE writes a page with the charts"

MISSING = {
    "profile": "sonde profile collects hardware counters, this command does not; analyze reads what rocprof-compute has collected",
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
                Option("--list-metrics", "GPU", REFUSED, "metrics of an architecture",
                       "sonde sol DIR --all --format csv lists those of a workload's GPU"),
                Option("--list-nodes", "", REFUSED, "nodes of a workload", "ls DIR shows them"),
                Option("--nodes", "NODE...", REFUSED, "only these nodes", "give the folder of a node with -p"),
                Option("-s --specs", "", REFUSED, "facts about this machine", "sonde doctor shows what is here"),
            ],
            "What is shown": [
                Option("-k --kernel", "N...", SAME, "only these kernels, by their place in --list-stats, from 0 on; "
                       "of several folders, by the place in the first"),
                Option("-d --dispatch", "N...", NEAR, "only these dispatches: 0, 4:7, \"> 3\"",
                       "numbers are those of Dispatch_ID"),
                Option("-b --block", "ID...", NEAR, "only these panels, tables or metrics: 2, 7.2, 7.2.0",
                       "of a metric its table is shown"),
                Option("--gpu-id", "N", SAME, "only this GPU"),
                Option("-n --normal-unit", "UNIT", SAME, "what counts are divided by: per_kernel, per_wave, per_cycle, "
                       "per_second"),
                Option("--specs-correction", "NAME:N,...", REFUSED, "other facts about the GPU",
                       "change sysinfo.csv in a copy of the folder"),
                Option("-g --debug", "", REFUSED, "formulas and what goes into them",
                       "sonde sol DIR --explain METRIC shows it"),
                Option("--report-diff", "PERCENT", REFUSED, "only larger changes",
                       "all changes are shown; --save-dfs has them for a script"),
                Option("--pc-sampling-sorting-type", "WHAT", REFUSED, "order of samples of program counters",
                       "Sonde has none of these"),
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
                Option("--gui", "[PORT]", REFUSED, "a page in the browser", _PAGE),
                Option("--random-port", "", REFUSED, "its port", _PAGE),
                Option("--tui", "", REFUSED, "panes in the terminal", _PAGE),
                Option("--output-format", "FORMAT", REFUSED, "db", "sonde sol DIR --all --format json has all figures"),
                Option("--output-name", "NAME", REFUSED, "name of the database", "-o names a file"),
            ],
        })


ROCPROF_COMPUTE = _analyze("rocprof-compute")
OMNIPERF = _analyze("omniperf")
