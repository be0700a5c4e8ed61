"""The options of rocprofv3, of ROCm 6.2 to 7.x (what came later is there, too)."""

from .table import NEAR, REFUSED, SAME, Front, Option

_NO_OWN = "Sonde has no counters of one's own; sonde avail --category counters lists those there are"
_NO_SERIES = "Sonde counts whole kernels; ROCm's own rocprofv3 has counters over time"
_PC = "Sonde takes no samples of the GPU's program counter; sonde kernels shows whole kernels"
_ATT = "Sonde has no thread trace; ROCm's own rocprofv3 has"
_ATTACH = ("sonde record --pid PID --duration 10s -o t.rpd attaches, and sonde export t.rpd --format rocprofv3 "
           "writes the files")
_NOT_RECORDED = "not recorded by Sonde: no such file is written"


def _trace(names, text, *sets):
    return Option(names, "[BOOL]", SAME, text, sets=sets)


def _missing(names, text, note=_NOT_RECORDED):
    return Option(names, "[BOOL]", NEAR, text, note)


ROCPROFV3 = Front(
    "rocprofv3", "rocprofv3 [OPTIONS] -- APP [ARGUMENTS...]",
    "Runs APP and leaves the files of rocprofv3, from a recording by sonde record that stays beside them\n"
    "(NAME_results.rpd).", {
        "Input and output": [
            Option("-i --input", "FILE", SAME, "job file: JSON or YAML with jobs:, or text with pmc: lines, each a "
                   "run"),
            Option("-o --output-file", "NAME", SAME, "what the files' names begin with; %hostname%/%pid% by "
                   "default. Keys: %pid% %ppid% %hostname% %rank% %size% %nid% %job% %tag% %argt% %launch_time% "
                   "%env{X}% %h %p %r %j %s"),
            Option("-d --output-directory", "DIR", SAME, "the folder, with keys too"),
            Option("-f --output-format", "FORMAT...", SAME, "csv, json, pftrace, otf2, rocpd; rocpd by default, csv "
                   "before ROCm 7.0. Only CSV files are of the domains asked for, the others hold all that was "
                   "recorded"),
            Option("--output-config", "[BOOL]", NEAR, "write the configuration", "none is written; sonde info shows "
                   "how the trace was recorded"),
            Option("--log-level", "LEVEL", NEAR, "how much is logged", "Sonde has no levels of log"),
            Option("-E --extra-counters", "FILE", REFUSED, "definitions of counters", _NO_OWN),
            Option("--echo", "[BOOL]", NEAR, "print what is done", "the last line names the files, nothing else is "
                   "printed"),
            Option("--minimum-output-data", "KB", NEAR, "no files for less data", "files are written for any "
                   "amount of data"),
            Option("--disable-signal-handlers", "[BOOL]", SAME, "none is installed in APP anyhow"),
            Option("--sonde-as", "VERSION", SAME, "defaults of this ROCm, such as 6.4; also by the variable "
                   "SONDE_AS"),
        ],
        "Several domains": [
            _trace("-r --runtime-trace", "HIP's calls, markers, RCCL, kernels, copies", "hip", "marker", "rccl",
                   "kernel", "memory_copy"),
            _trace("-s --sys-trace", "the same, and HSA's calls", "hip", "hsa", "marker", "rccl", "kernel",
                   "memory_copy"),
        ],
        "Domains": [
            _trace("--hip-trace", "calls of HIP", "hip"),
            _trace("--hip-runtime-trace", "calls of HIP", "hip"),
            _missing("--hip-compiler-trace", "calls that compilers put in"),
            _trace("--hsa-trace", "calls of HSA", "hsa"),
            _trace("--hsa-core-trace", "calls of HSA", "hsa"),
            _trace("--hsa-amd-trace", "calls of HSA", "hsa"),
            _missing("--hsa-image-trace", "calls of HSA for images"),
            _missing("--hsa-finalizer-trace", "calls of HSA's finalizer"),
            _trace("--kernel-trace", "kernels", "kernel"),
            _trace("--memory-copy-trace", "copies", "memory_copy"),
            _trace("--marker-trace", "ranges and marks of ROCTX", "marker"),
            _trace("--rccl-trace", "calls of RCCL", "rccl"),
            _missing("--memory-allocation-trace", "allocations", "no file of their own; hipMalloc and hipFree are "
                     "calls of HIP (--hip-trace)"),
            _missing("--scratch-memory-trace", "scratch memory"),
            _missing("--kokkos-trace", "Kokkos"),
            _missing("--rocdecode-trace", "rocDecode"),
            _missing("--rocjpeg-trace", "rocJPEG"),
            _missing("--ompt-trace", "OpenMP"),
            _missing("--kfd-trace", "the kernel driver"),
            _missing("--hip-event-trace", "events of HIP", "no file of their own; they are calls of HIP "
                     "(--hip-trace)"),
            _missing("--hip-graph-trace", "graphs of HIP", "no file of their own; sonde_graph_op in the .rpd has "
                     "them"),
            _missing("--rocshmem-trace", "rocSHMEM"),
            _missing("--hipfile-trace", "hipFile"),
        ],
        "Counters, samples of the GPU, thread trace": [
            Option("--pmc", "NAME...", NEAR, "counters", "kernels are counted by sonde profile, which plans how often APP "
                   "runs; NAME_counter_collection.csv and the database have the values"),
            Option("-L --list-avail", "", NEAR, "counters there are", "the list is that of sonde avail --category "
                   "counters", sets=("list",)),
            Option("--spm", "NAME...", REFUSED, "counters over time", _NO_SERIES),
            Option("--pc-sampling-beta-enabled", "[BOOL]", REFUSED, "PC sampling", _PC),
            Option("--pc-sampling-unit", "UNIT", REFUSED, "PC sampling", _PC),
            Option("--pc-sampling-method", "METHOD", REFUSED, "PC sampling", _PC),
            Option("--pc-sampling-interval", "N", REFUSED, "PC sampling", _PC),
        ] + [Option("--att" + name, value, REFUSED, "thread trace", _ATT) for name, value in (
            ("", "[BOOL]"), ("-library-path", "PATH..."), ("-target-cu", "N"), ("-simd-select", "MASK"),
            ("-buffer-size", "SIZE"), ("-shader-engine-mask", "MASK"), ("-gpu-index", "LIST"),
            ("-perfcounters", "NAME..."), ("-perfcounter-ctrl", "N"), ("-activity", "N"),
            ("-serialize-all", "[BOOL]"))],
        "After the run": [
            Option("--stats", "[BOOL]", SAME, "statistics as CSV files: NAME_DOMAIN_stats.csv"),
            Option("-S --summary", "[BOOL]", SAME, "print a summary of all domains"),
            Option("-D --summary-per-domain", "[BOOL]", SAME, "print one of each domain"),
            Option("--summary-groups", "REGEX...", SAME, "and one of the domains that match"),
            Option("--summary-output-file", "FILE", SAME, "where to: stdout, stderr (by default) or a file"),
            Option("-u --summary-units", "UNIT", SAME, "sec, msec, usec or nsec (by default)"),
        ],
        "Names": [
            Option("-M --mangled-kernels", "[BOOL]", SAME, "do not demangle names of kernels"),
            Option("-T --truncate-kernels", "[BOOL]", SAME, "names of kernels without arguments and templates"),
            Option("--kernel-rename", "[BOOL]", NEAR, "name kernels after their range", "kernels keep their names; "
                   "sonde kernels --by marker groups them by their ranges"),
        ],
        "What is recorded": [
            Option("--kernel-include-regex", "REGEX", SAME, "kernels that --pmc counts; traces have all kernels"),
            Option("--kernel-exclude-regex", "REGEX", NEAR, "kernels that --pmc leaves out", "they are counted, too, and left "
                   "out of the CSV file"),
            Option("--kernel-iteration-range", "RANGE...", NEAR, "which dispatches of each kernel --pmc counts: [1-3] [5]",
                   "all are counted, and the others left out of the CSV file"),
            Option("-P --collection-period", "DELAY:LENGTH:REPEAT...", NEAR, "wait, record, and that REPEAT times; 0 is "
                   "for ever", "the first period is taken, others after it are not"),
            Option("--collection-period-unit", "UNIT", SAME, "hour, min, sec (by default), msec, usec or nsec"),
            Option("--selected-regions", "[BOOL]", SAME, "only between roctxProfilerResume and "
                   "roctxProfilerPause"),
        ],
        "Perfetto": [
            Option("--perfetto-backend", "KIND", NEAR, "inprocess or system", "the file is written from the "
                   "recording, no service is asked"),
            Option("--perfetto-buffer-size", "KB", NEAR, "size of the buffer", "there is none, and no loss by it"),
            Option("--perfetto-buffer-fill-policy", "POLICY", NEAR, "discard or ring_buffer", "there is no buffer to "
                   "fill"),
            Option("--perfetto-shmem-size-hint", "KB", NEAR, "shared memory", "none is needed"),
            Option("--group-by-queue", "[BOOL]", SAME, "a track for each queue, as always"),
        ],
        "Process": [
            Option("-A --agent-index", "KIND", NEAR, "absolute, relative or type-relative", "agents are numbered "
                   "absolute"),
            Option("--preload", "FILE...", REFUSED, "libraries to load into APP", "write it before APP: -- env "
                   "LD_PRELOAD=FILE APP"),
            Option("--rocm-root", "DIR", NEAR, "where ROCm is", "APP's own libraries are recorded"),
            Option("-p --pid --attach", "PID", REFUSED, "attach to a process (a period before ROCm 7.0: -P)",
                   _ATTACH),
            Option("--attach-duration-msec", "N", REFUSED, "attach for so long", _ATTACH),
            Option("--attach-children", "[BOOL]", REFUSED, "attach to children", _ATTACH),
            Option("--attach-sync-output", "[BOOL]", REFUSED, "attach", _ATTACH),
            Option("--process-sync", "[BOOL]", SAME, "all processes of APP are in one trace anyhow"),
            Option("--profile-mpi-ranks", "RANK...", SAME, "record these ranks, such as 0 2-4; the others run "
                   "unrecorded"),
            Option("--mpi-world-rank-variable", "NAME", SAME, "the variable with the rank"),
        ],
    }, "dashes")
