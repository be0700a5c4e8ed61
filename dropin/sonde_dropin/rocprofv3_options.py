"""The options of rocprofv3, of ROCm 6.2 to 7.x (what came later is there, too)."""

from .table import Front, options_of

_NO_OWN = "Sonde has no counters of one's own; sonde avail --category counters lists those there are"
_NO_SERIES = "Sonde counts whole kernels; ROCm's own rocprofv3 has counters over time"
_PC = ("on a software GPU, sonde profile --softgpu --pc-sample N takes samples, and sonde instructions shows them; "
       "of a card Sonde takes none")
_ATT = "Sonde has no thread trace; ROCm's own rocprofv3 has"
_ATTACH = ("sonde record --pid PID --duration 10s -o t.rpd attaches, and sonde export t.rpd --format rocprofv3 "
           "writes the files")
_NOT_RECORDED = "not recorded by Sonde: no such file is written"

ROCPROFV3 = Front(
    "rocprofv3", "rocprofv3 [OPTIONS] -- APP [ARGUMENTS...]",
    "Runs APP and leaves the files of rocprofv3, from a recording by sonde record that stays beside them\n"
    "(NAME_results.rpd).", {
        "Input and output": options_of(f"""
            -i --input FILE  job file: JSON or YAML with jobs:, or text with pmc: lines, each a run
            -o --output-file NAME  what the files' names begin with; %hostname%/%pid% by default. Keys: %pid% %ppid%
                %hostname% %rank% %size% %nid% %job% %tag% %argt% %launch_time% %env{{X}}% %h %p %r %j %s
            -d --output-directory DIR  the folder, with keys too
            -f --output-format FORMAT...  csv, json, pftrace, otf2, rocpd; rocpd by default, csv before ROCm 7.0.
                Only CSV files are of the domains asked for, the others hold all that was recorded
            --output-config [BOOL]  write the configuration
                differs: none is written; sonde info shows how the trace was recorded
            --log-level LEVEL  how much is logged  differs: Sonde has no levels of log
            -E --extra-counters FILE  definitions of counters  not done: {_NO_OWN}
            --echo [BOOL]  print what is done  differs: the last line names the files, nothing else is printed
            --minimum-output-data KB  no files for less data  differs: files are written for any amount of data
            --disable-signal-handlers [BOOL]  none is installed in APP anyhow
            --sonde-as VERSION  defaults of this ROCm, such as 6.4; also by the variable SONDE_AS"""),
        "Several domains": options_of("""
            -r --runtime-trace [BOOL]  HIP's calls, markers, RCCL, kernels, copies
                sets: hip marker rccl kernel memory_copy
            -s --sys-trace [BOOL]  the same, and HSA's calls  sets: hip hsa marker rccl kernel memory_copy"""),
        "Domains": options_of(f"""
            --hip-trace [BOOL]  calls of HIP  sets: hip
            --hip-runtime-trace [BOOL]  calls of HIP  sets: hip
            --hip-compiler-trace [BOOL]  calls that compilers put in  differs: {_NOT_RECORDED}
            --hsa-trace [BOOL]  calls of HSA  sets: hsa
            --hsa-core-trace [BOOL]  calls of HSA  sets: hsa
            --hsa-amd-trace [BOOL]  calls of HSA  sets: hsa
            --hsa-image-trace [BOOL]  calls of HSA for images  differs: {_NOT_RECORDED}
            --hsa-finalizer-trace [BOOL]  calls of HSA's finalizer  differs: {_NOT_RECORDED}
            --kernel-trace [BOOL]  kernels  sets: kernel
            --memory-copy-trace [BOOL]  copies  sets: memory_copy
            --marker-trace [BOOL]  ranges and marks of ROCTX  sets: marker
            --rccl-trace [BOOL]  calls of RCCL  sets: rccl
            --memory-allocation-trace [BOOL]  allocations
                differs: no file of their own; hipMalloc and hipFree are calls of HIP (--hip-trace)
            --scratch-memory-trace [BOOL]  scratch memory  differs: {_NOT_RECORDED}
            --kokkos-trace [BOOL]  Kokkos  differs: {_NOT_RECORDED}
            --rocdecode-trace [BOOL]  rocDecode  differs: {_NOT_RECORDED}
            --rocjpeg-trace [BOOL]  rocJPEG  differs: {_NOT_RECORDED}
            --ompt-trace [BOOL]  OpenMP  differs: {_NOT_RECORDED}
            --kfd-trace [BOOL]  the kernel driver  differs: {_NOT_RECORDED}
            --hip-event-trace [BOOL]  events of HIP
                differs: no file of their own; they are calls of HIP (--hip-trace)
            --hip-graph-trace [BOOL]  graphs of HIP
                differs: no file of their own; sonde_graph_op in the .rpd has them
            --rocshmem-trace [BOOL]  rocSHMEM  differs: {_NOT_RECORDED}
            --hipfile-trace [BOOL]  hipFile  differs: {_NOT_RECORDED}"""),
        "Counters, samples of the GPU, thread trace": options_of(f"""
            --pmc NAME...  counters
                differs: kernels are counted by sonde profile, which plans how often APP runs;
                NAME_counter_collection.csv and the database have the values
            -L --list-avail  counters there are  differs: the list is that of sonde avail --category counters
                sets: list
            --spm NAME...  counters over time  not done: {_NO_SERIES}
            --pc-sampling-beta-enabled [BOOL]  PC sampling  not done: {_PC}
            --pc-sampling-unit UNIT  PC sampling  not done: {_PC}
            --pc-sampling-method METHOD  PC sampling  not done: {_PC}
            --pc-sampling-interval N  PC sampling  not done: {_PC}
            --att [BOOL]  thread trace  not done: {_ATT}
            --att-library-path PATH...  thread trace  not done: {_ATT}
            --att-target-cu N  thread trace  not done: {_ATT}
            --att-simd-select MASK  thread trace  not done: {_ATT}
            --att-buffer-size SIZE  thread trace  not done: {_ATT}
            --att-shader-engine-mask MASK  thread trace  not done: {_ATT}
            --att-gpu-index LIST  thread trace  not done: {_ATT}
            --att-perfcounters NAME...  thread trace  not done: {_ATT}
            --att-perfcounter-ctrl N  thread trace  not done: {_ATT}
            --att-activity N  thread trace  not done: {_ATT}
            --att-serialize-all [BOOL]  thread trace  not done: {_ATT}"""),
        "After the run": options_of("""
            --stats [BOOL]  statistics as CSV files: NAME_DOMAIN_stats.csv
            -S --summary [BOOL]  print a summary of all domains
            -D --summary-per-domain [BOOL]  print one of each domain
            --summary-groups REGEX...  and one of the domains that match
            --summary-output-file FILE  where to: stdout, stderr (by default) or a file
            -u --summary-units UNIT  sec, msec, usec or nsec (by default)"""),
        "Names": options_of("""
            -M --mangled-kernels [BOOL]  do not demangle names of kernels
            -T --truncate-kernels [BOOL]  names of kernels without arguments and templates
            --kernel-rename [BOOL]  name kernels after their range
                differs: kernels keep their names; sonde kernels --by marker groups them by their ranges"""),
        "What is recorded": options_of("""
            --kernel-include-regex REGEX  kernels that --pmc counts; traces have all kernels
            --kernel-exclude-regex REGEX  kernels that --pmc leaves out
                differs: they are counted, too, and left out of the CSV file
            --kernel-iteration-range RANGE...  which dispatches of each kernel --pmc counts: [1-3] [5]
                differs: all are counted, and the others left out of the CSV file
            -P --collection-period DELAY:LENGTH:REPEAT...  wait, record, and that REPEAT times; 0 is for ever
                differs: the first period is taken, others after it are not
            --collection-period-unit UNIT  hour, min, sec (by default), msec, usec or nsec
            --selected-regions [BOOL]  only between roctxProfilerResume and roctxProfilerPause"""),
        "Perfetto": options_of("""
            --perfetto-backend KIND  inprocess or system
                differs: the file is written from the recording, no service is asked
            --perfetto-buffer-size KB  size of the buffer  differs: there is none, and no loss by it
            --perfetto-buffer-fill-policy POLICY  discard or ring_buffer  differs: there is no buffer to fill
            --perfetto-shmem-size-hint KB  shared memory  differs: none is needed
            --group-by-queue [BOOL]  a track for each queue, as always"""),
        "Process": options_of(f"""
            -A --agent-index KIND  absolute, relative or type-relative  differs: agents are numbered absolute
            --preload FILE...  libraries to load into APP  not done: write it before APP: -- env LD_PRELOAD=FILE APP
            --rocm-root DIR  where ROCm is  differs: APP's own libraries are recorded
            -p --pid --attach PID  attach to a process (a period before ROCm 7.0: -P)  not done: {_ATTACH}
            --attach-duration-msec N  attach for so long  not done: {_ATTACH}
            --attach-children [BOOL]  attach to children  not done: {_ATTACH}
            --attach-sync-output [BOOL]  attach  not done: {_ATTACH}
            --process-sync [BOOL]  all processes of APP are in one trace anyhow
            --profile-mpi-ranks RANK...  record these ranks, such as 0 2-4; the others run unrecorded
            --mpi-world-rank-variable NAME  the variable with the rank"""),
    }, "dashes")
