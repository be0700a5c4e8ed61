"""The options of nsys stats and nsys export."""

from .table import Front, options_of

STATS = Front(
    "nsys stats", "nsys stats [OPTIONS] FILE",
    "Prints the summaries of nsys stats of a report's SQLite, or of any other trace that Sonde reads.", {
        "What is printed": options_of("""
            -r --report NAME,...  summaries, with commas between them: cuda_gpu_kern_sum, cuda_api_sum,
                cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, cuda_gpu_trace, nvtx_sum, osrt_sum, and their older
                names; by default all but the trace
            --timeunit UNIT  ns (by default), us, ms, s, and their long names
            --filter-time RANGE  a part by time  not done: sonde kernels, api and copies have --from and --to
            --filter-nvtx RANGE  a part by range  not done: sonde kernels --window marker:NAME does this
            --report-dir DIR  reports of one's own  not done: sonde query runs SQL
            --help-reports  list the summaries
            --help-formats  list the formats"""),
        "Output": options_of("""
            -f --format FORMAT,...  column (by default), table, csv, tsv, json, htable
            -o --output NAME,...  - prints (by default); . and a name make files NAME_REPORT.csv and so on
            --force-overwrite BOOL  replace files that are there
            -q --quiet  no lines about what is done"""),
        "Input": options_of("""
            --force-export BOOL  export the report again
                differs: nsys itself exports, if it is in PATH; otherwise give the .sqlite
            --sqlite FILE  where the report's SQLite is"""),
    }, "", 1)

EXPORT = Front(
    "nsys export", "nsys export [OPTIONS] FILE",
    "Writes a report's SQLite, or any other trace that Sonde reads, in another form.", {
        "Output": options_of("""
            -t --type TYPE  sqlite (by default) or json
                differs: sqlite is an .rpd, with RPD's tables and not Nsight's; json is that of chrome://tracing;
                sonde export has other forms
            -o --output FILE  where to; beside FILE by default
            -f --force-overwrite BOOL  replace a file that is there
            -q --quiet BOOL  no lines about what is done
            --lazy BOOL  tables without rows are always there
            --tables NAMES  some tables only  not done: all are written; sonde query prints one
            --times RANGE  a part by time  not done: sonde export has --from and --to
            --separate-strings BOOL  texts in a table of their own  differs: they are in rocpd_string
            --include-json BOOL  payloads as JSON  differs: payloads are not read
            --include-blobs BOOL  payloads  differs: payloads are not read
            --ts-normalize BOOL  times as those of the day
                not done: sonde export keeps times, and sonde info says what time of day they count from
            --ts-shift NS  shift all times  not done: sonde merge puts traces on one timeline"""),
    }, "", 1)

MISSING = {
    "profile": "CUDA is not recorded by Sonde; sonde record -o r.rpd -- APP records programs on AMD's GPUs",
    "analyze": "sonde check names what is slow, sonde idle why a GPU waited",
    "recipe": "sonde report, ranks and diff answer what recipes do",
    **{name: "a recording begins with its program: sonde record --no-start -- APP, and sonde.start()"
       for name in ("start", "stop", "launch", "cancel", "shutdown", "sessions")},
    "status": "sonde doctor says what can be recorded here",
}
