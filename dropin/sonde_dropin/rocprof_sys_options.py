"""The options of rocprof-sys-sample and rocprof-sys-run."""

from .table import NEAR, REFUSED, SAME, Front, Option

_CPU_COUNTERS = "Sonde reads no counters of the CPU or the GPU; sonde record takes call stacks and metrics without"

_COMMON = {
    "Files": [
        Option("-T --trace", "[BOOL]", SAME, "a trace for Perfetto: perfetto-trace-PID.proto; as well where neither -P nor "
               "-F is given"),
        Option("-P --profile", "[BOOL]", SAME, "a profile by call path of calls and ranges: wall_clock-PID.txt and "
               ".json"),
        Option("-F --flat-profile", "[BOOL]", NEAR, "a flat profile", "the profile is by call path; sonde stacks and "
               "sonde kernels print flat ones"),
        Option("--profile-diff", "PATH...", REFUSED, "compare with an older profile", "sonde diff compares two traces"),
        Option("-o --output", "DIR PREFIX", SAME, "the folder, and what names of files begin with; by default "
               "rocprof-sys-APP-output. In it is a folder for each run"),
        Option("--trace-file", "FILE", SAME, "the name of the trace for Perfetto"),
        Option("--profile-format", "FORMAT...", SAME, "text, json, console"),
        Option("-c --config", "FILE...", SAME, "configuration files of ROCm Systems Profiler (the last one counts); see "
               "sonde config"),
        Option("--trace-buffer-size", "KB", NEAR, "size of the buffer", "the trace has no buffer that it must fit in"),
        Option("--trace-fill-policy", "POLICY", NEAR, "discard or ring_buffer", "the trace has no buffer to fill"),
    ],
    "What is recorded": [
        Option("-I --include", "WORD...", SAME, "what is recorded: rocm, roctx, rcclp and so on; words for what "
               "Sonde does not record are named once"),
        Option("-E --exclude", "WORD...", NEAR, "what is not recorded", "nothing is left out; name what you want "
               "with -I"),
        Option("-C --cpu-events", "NAME...", REFUSED, "counters of the CPU", _CPU_COUNTERS),
        Option("-G --gpu-events", "NAME...", REFUSED, "counters of the GPU", _CPU_COUNTERS),
        Option("-H --host", "[BOOL]", SAME, "metrics of host and processes, as always"),
        Option("-D --device", "[BOOL]", SAME, "metrics of GPUs, as always"),
        Option("--process-freq", "HZ", SAME, "how often metrics are read"),
        Option("--cpus", "LIST...", NEAR, "CPUs whose metrics are read", "metrics are of all CPUs"),
        Option("--gpus", "LIST...", NEAR, "GPUs whose metrics are read", "metrics are of all GPUs"),
        Option("-w --wait", "SECONDS", SAME, "begin after so long"),
        Option("-d --duration", "SECONDS", SAME, "record for so long"),
        Option("--trace-wait", "SECONDS", NEAR, "begin to trace after so long", "call stacks and metrics begin then, too"),
        Option("--trace-duration", "SECONDS", NEAR, "trace for so long", "call stacks and metrics end then, too"),
        Option("--process-wait", "SECONDS", NEAR, "when metrics begin", "metrics begin with the recording (-w)"),
        Option("--process-duration", "SECONDS", NEAR, "how long metrics are read", "metrics end with the recording (-d)"),
        Option("--hsa-interrupt", "0|1", NEAR, "how HSA waits", "HSA's setting stays; HSA_ENABLE_INTERRUPT changes it"),
    ],
    "Call stacks": [
        Option("-f --freq --sampling-freq", "HZ", SAME, "samples per second"),
        Option("--cputime --sample-cputime", "N...", NEAR, "by CPU time: rate, delay, threads", "the rate counts, for all threads and from "
               "the begin"),
        Option("--realtime --sample-realtime", "N...", NEAR, "by real time: rate, delay, threads", "the rate counts, for all threads and "
               "from the begin"),
        Option("--sampling-wait", "SECONDS", NEAR, "when call stacks begin", "they begin with the recording (-w)"),
        Option("--sampling-duration", "SECONDS", NEAR, "how long they are taken", "they end with the recording (-d)"),
        Option("--inlines", "[BOOL]", SAME, "inlined functions are frames, as always"),
        Option("-t --tids", "N...", NEAR, "threads that are sampled", "all threads are sampled"),
    ],
}

SAMPLE = Front(
    "rocprof-sys-sample", "rocprof-sys-sample [OPTIONS] -- APP [ARGUMENTS...]",
    "Runs APP with call stacks, GPU work and metrics recorded by sonde record, and leaves files as ROCm Systems\n"
    "Profiler does; the recording stays beside them (trace-PID.rpd).", _COMMON, "either")

RUN = Front(
    "rocprof-sys-run", "rocprof-sys-run [OPTIONS] -- APP [ARGUMENTS...]",
    "As rocprof-sys-sample, but without call stacks unless -S, -f, --cputime or --realtime asks for them.", {
        **_COMMON,
        "Of -run": [
            Option("-S --sample", "[cputime|realtime]...", SAME, "take call stacks, by cputime (default) or realtime, "
                   "which is both"),
            Option("-l --launcher", "NAME", NEAR, "the launcher whose program is recorded", "all that APP starts is "
                   "recorded"),
            Option("--fork", "[BOOL]", SAME, "children are recorded, as always"),
            Option("--sample-overflow", "N...", REFUSED, "by counters of the CPU", _CPU_COUNTERS),
        ],
    }, "either")
