"""The options of rocprof-sys-sample and rocprof-sys-run."""

from .table import Front, options_of

_CPU_COUNTERS = "Sonde reads no counters of the CPU; sonde record takes call stacks and metrics without"
_GPU_COUNTERS = "sonde profile counts what kernels do, without a timeline of counters"

_COMMON = {
    "Files": options_of("""
        -T --trace [BOOL]  a trace for Perfetto: perfetto-trace-PID.proto; as well where neither -P nor -F is given
        -P --profile [BOOL]  a profile by call path of calls and ranges: wall_clock-PID.txt and .json
        -F --flat-profile [BOOL]  a flat profile
            differs: the profile is by call path; sonde stacks and sonde kernels print flat ones
        --profile-diff PATH...  compare with an older profile  not done: sonde diff compares two traces
        -o --output DIR PREFIX  the folder, and what names of files begin with; by default rocprof-sys-APP-output.
            In it is a folder for each run
        --trace-file FILE  the name of the trace for Perfetto
        --profile-format FORMAT...  text, json, console
        -c --config FILE...  configuration files of ROCm Systems Profiler (the last one counts); see sonde config
        --trace-buffer-size KB  size of the buffer  differs: the trace has no buffer that it must fit in
        --trace-fill-policy POLICY  discard or ring_buffer  differs: the trace has no buffer to fill"""),
    "What is recorded": options_of(f"""
        -I --include WORD...  what is recorded: rocm, roctx, rcclp and so on; words for what Sonde does not record
            are named once
        -E --exclude WORD...  what is not recorded  differs: nothing is left out; name what you want with -I
        -C --cpu-events NAME...  counters of the CPU  not done: {_CPU_COUNTERS}
        -G --gpu-events NAME...  counters of the GPU  not done: {_GPU_COUNTERS}
        -H --host [BOOL]  metrics of host and processes, as always
        -D --device [BOOL]  metrics of GPUs, as always
        --process-freq HZ  how often metrics are read
        --cpus LIST...  CPUs whose metrics are read  differs: metrics are of all CPUs
        --gpus LIST...  GPUs whose metrics are read  differs: metrics are of all GPUs
        -w --wait SECONDS  begin after so long
        -d --duration SECONDS  record for so long
        --trace-wait SECONDS  begin to trace after so long  differs: call stacks and metrics begin then, too
        --trace-duration SECONDS  trace for so long  differs: call stacks and metrics end then, too
        --process-wait SECONDS  when metrics begin  differs: metrics begin with the recording (-w)
        --process-duration SECONDS  how long metrics are read  differs: metrics end with the recording (-d)
        --hsa-interrupt 0|1  how HSA waits  differs: HSA's setting stays; HSA_ENABLE_INTERRUPT changes it"""),
    "Call stacks": options_of("""
        -f --freq --sampling-freq HZ  samples per second
        --cputime --sample-cputime N...  by CPU time: rate, delay, threads
            differs: the rate counts, for all threads and from the begin
        --realtime --sample-realtime N...  by real time: rate, delay, threads
            differs: the rate counts, for all threads and from the begin
        --sampling-wait SECONDS  when call stacks begin  differs: they begin with the recording (-w)
        --sampling-duration SECONDS  how long they are taken  differs: they end with the recording (-d)
        --inlines [BOOL]  inlined functions are frames, as always
        -t --tids N...  threads that are sampled  differs: all threads are sampled"""),
}

SAMPLE = Front(
    "rocprof-sys-sample", "rocprof-sys-sample [OPTIONS] -- APP [ARGUMENTS...]",
    "Runs APP with call stacks, GPU work and metrics recorded by sonde record, and leaves files as ROCm Systems\n"
    "Profiler does; the recording stays beside them (trace-PID.rpd).", _COMMON, "either")

RUN = Front(
    "rocprof-sys-run", "rocprof-sys-run [OPTIONS] -- APP [ARGUMENTS...]",
    "As rocprof-sys-sample, but without call stacks unless -S, -f, --cputime or --realtime asks for them.", {
        **_COMMON,
        "Of -run": options_of(f"""
            -S --sample [cputime|realtime]...  take call stacks, by cputime (default) or realtime, which is both
            -l --launcher NAME  the launcher whose program is recorded  differs: all that APP starts is recorded
            --fork [BOOL]  children are recorded, as always
            --sample-overflow N...  by counters of the CPU  not done: {_CPU_COUNTERS}"""),
    }, "either")
