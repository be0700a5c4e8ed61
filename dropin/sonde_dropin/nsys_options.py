"""The options of nsys stats and nsys export."""

from .table import NEAR, REFUSED, SAME, Front, Option

STATS = Front(
    "nsys stats", "nsys stats [OPTIONS] FILE",
    "Prints the summaries of nsys stats of a report's SQLite, or of any other trace that Sonde reads.", {
        "What is printed": [
            Option("-r --report", "NAME,...", SAME, "summaries, with commas between them: cuda_gpu_kern_sum, cuda_api_sum, "
                   "cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, cuda_gpu_trace, nvtx_sum, osrt_sum, and their older "
                   "names; by default all but the trace"),
            Option("--timeunit", "UNIT", SAME, "ns (by default), us, ms, s, and their long names"),
            Option("--filter-time", "RANGE", REFUSED, "a part by time", "sonde kernels, api and copies have --from "
                   "and --to"),
            Option("--filter-nvtx", "RANGE", REFUSED, "a part by range", "sonde kernels --window marker:NAME "
                   "does this"),
            Option("--report-dir", "DIR", REFUSED, "reports of one's own", "sonde query runs SQL"),
            Option("--help-reports", "", SAME, "list the summaries"),
            Option("--help-formats", "", SAME, "list the formats"),
        ],
        "Output": [
            Option("-f --format", "FORMAT,...", SAME, "column (by default), table, csv, tsv, json, htable"),
            Option("-o --output", "NAME,...", SAME, "- prints (by default); . and a name make files NAME_REPORT.csv and "
                   "so on"),
            Option("--force-overwrite", "BOOL", SAME, "replace files that are there"),
            Option("-q --quiet", "", SAME, "no lines about what is done"),
        ],
        "Input": [
            Option("--force-export", "BOOL", NEAR, "export the report again", "nsys itself exports, if it is in PATH; "
                   "otherwise give the .sqlite"),
            Option("--sqlite", "FILE", SAME, "where the report's SQLite is"),
        ],
    }, "", 1)

EXPORT = Front(
    "nsys export", "nsys export [OPTIONS] FILE",
    "Writes a report's SQLite, or any other trace that Sonde reads, in another form.", {
        "Output": [
            Option("-t --type", "TYPE", NEAR, "sqlite (by default) or json", "sqlite is an .rpd, with RPD's tables and "
                   "not Nsight's; json is that of chrome://tracing; sonde export has other forms"),
            Option("-o --output", "FILE", SAME, "where to; beside FILE by default"),
            Option("-f --force-overwrite", "BOOL", SAME, "replace a file that is there"),
            Option("-q --quiet", "BOOL", SAME, "no lines about what is done"),
            Option("--lazy", "BOOL", SAME, "tables without rows are always there"),
            Option("--tables", "NAMES", REFUSED, "some tables only", "all are written; sonde query prints one"),
            Option("--times", "RANGE", REFUSED, "a part by time", "sonde export has --from and --to"),
            Option("--separate-strings", "BOOL", NEAR, "texts in a table of their own", "they are in rocpd_string"),
            Option("--include-json", "BOOL", NEAR, "payloads as JSON", "payloads are not read"),
            Option("--include-blobs", "BOOL", NEAR, "payloads", "payloads are not read"),
            Option("--ts-normalize", "BOOL", REFUSED, "times as those of the day", "sonde export keeps times, and "
                   "sonde info says what time of day they count from"),
            Option("--ts-shift", "NS", REFUSED, "shift all times", "sonde merge puts traces on one timeline"),
        ],
    }, "", 1)

MISSING = {
    "profile": "CUDA is not recorded by Sonde; sonde record -o r.rpd -- APP records programs on AMD's GPUs",
    "analyze": "sonde check names what is slow, sonde idle why a GPU waited",
    "recipe": "sonde report, ranks and diff answer what recipes do",
    **{name: "a recording begins with its program: sonde record --no-start -- APP, and sonde.start()"
       for name in ("start", "stop", "launch", "cancel", "shutdown", "sessions")},
    "status": "sonde doctor says what can be recorded here",
}
