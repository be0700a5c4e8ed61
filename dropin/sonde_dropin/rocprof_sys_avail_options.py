"""The options of rocprof-sys-avail, and the settings of the file that it writes."""

from .table import Front, options_of

AVAIL = Front(
    "rocprof-sys-avail", "rocprof-sys-avail [OPTIONS]",
    "Lists the interfaces, metrics and settings of Sonde (sonde avail), or writes a configuration file for\n"
    "rocprof-sys-sample -c.", {
        "What is listed": options_of("""
            -S --settings  settings of a recording  sets: settings
            -C --components  what can be recorded: interfaces, in Sonde's words backends  sets: backends
            -H --hw-counters  hardware counters
                differs: rocprof-sys-sample takes none; the list is of those that sonde profile or the files of others have
                sets: counters
            -a --all  everything; with -G, descriptions too
            -r --filter REGEX  only what has a match, in any column
            --categories NAME...  only these categories
                differs: Sonde's settings have no categories of ROCm Systems Profiler; -r filters
            --advanced  advanced settings are always listed"""),
        "How": options_of("""
            -b --brief  only names and values
                differs: the table of sonde avail is as brief as the terminal is narrow
            -d --description  with descriptions: the list has them always, the file of -G if asked"""),
        "Configuration file": options_of("""
            -G --generate-config FILE  write a file with the settings that Sonde knows, at the values it records
                with
            -F --config-format FORMAT...  txt, json, xml; by the name of FILE, or txt
            --force  replace FILE"""),
    })

# Those that `sonde record --rocprof-sys-config` understands, and the value that stands for what it
# does without the file.
SETTINGS = [
    ("ROCPROFSYS_TRACE", "true", "A trace for Perfetto is written"),
    ("ROCPROFSYS_USE_SAMPLING", "true", "Call stacks are taken"),
    ("ROCPROFSYS_SAMPLING_CPUTIME", "true", "They are taken by CPU time"),
    ("ROCPROFSYS_SAMPLING_REALTIME", "false", "They are taken by real time, of blocked threads too"),
    ("ROCPROFSYS_SAMPLING_FREQ", "100", "Call stacks per second"),
    ("ROCPROFSYS_USE_PROCESS_SAMPLING", "true", "Metrics of processes, host and GPUs are read"),
    ("ROCPROFSYS_PROCESS_SAMPLING_FREQ", "10", "How often a second they are read"),
    ("ROCPROFSYS_CPU_FREQ_ENABLED", "false", "The frequency of each core is one of them"),
    ("ROCPROFSYS_USE_AMD_SMI", "true", "Those of GPUs are read"),
    ("ROCPROFSYS_USE_ROCM", "true", "HIP, HSA and ROCTX are recorded"),
    ("ROCPROFSYS_USE_ROCPROFILER", "false", "Hardware counters are read; sonde profile does that"),
    ("ROCPROFSYS_TRACE_DELAY", "0", "Seconds until recording begins"),
    ("ROCPROFSYS_TRACE_DURATION", "0", "Seconds that are recorded, 0 for all"),
    ("ROCPROFSYS_TMPDIR", "", "Folder in which records wait, empty for $TMPDIR or /tmp"),
]
