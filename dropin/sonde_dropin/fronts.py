"""All fronts, by name: the table of options, and what is done."""

from . import (amd_smi, amd_smi_facts, amd_smi_options, compute, compute_options, compute_profile, nsys, nsys_options, omnistat, rocpd, rocpd_options, rocprof, rocprof_sys, rocprof_sys_avail,
               rocprof_sys_avail_options, rocprof_sys_options, rocprofv3, rpd)

FRONTS = {
    "runTracer.sh": (rpd.RUN_TRACER, rpd.run_tracer),
    "loadTracer.sh": (rpd.LOAD_TRACER, rpd.load_tracer),
    "rpdRemote.sh": (rpd.RPD_REMOTE, rpd.remote),
    "rpd_trim": (rpd.RPD_TRIM, rpd.trim),
    "rocprof": (rocprof.ROCPROF, rocprof.rocprof),
    "rocprofv3": (rocprofv3.ROCPROFV3, rocprofv3.rocprofv3),
    "rocprof-sys-sample": (rocprof_sys_options.SAMPLE, rocprof_sys.sample),
    "rocprof-sys-run": (rocprof_sys_options.RUN, rocprof_sys.run),
    "rocpd convert": (rocpd_options.CONVERT, rocpd.convert),
    "rocpd query": (rocpd_options.QUERY, rocpd.query),
    "rocpd summary": (rocpd_options.SUMMARY, rocpd.summarize),
    "rocpd merge": (rocpd_options.MERGE, rocpd.merge),
    "nsys stats": (nsys_options.STATS, nsys.stats),
    "nsys export": (nsys_options.EXPORT, nsys.export),
    "rocprof-compute analyze": (compute_options.ROCPROF_COMPUTE, compute.rocprof_compute),
    "omniperf analyze": (compute_options.OMNIPERF, compute.omniperf),
    "rocprof-compute profile": (compute_options.ROCPROF_COMPUTE_PROFILE, compute_profile.rocprof_compute),
    "omniperf profile": (compute_options.OMNIPERF_PROFILE, compute_profile.omniperf),
    "omnistat-usermode": (omnistat.USERMODE, omnistat.usermode),
    "omnistat-query": (omnistat.QUERY, omnistat.query),
    "amd-smi list": (amd_smi_options.LIST, amd_smi.list_gpus),
    "amd-smi monitor": (amd_smi_options.MONITOR, amd_smi.monitor),
    "amd-smi process": (amd_smi_options.PROCESS, amd_smi.process),
    "amd-smi metric": (amd_smi_options.METRIC, amd_smi_facts.metric),
    "amd-smi static": (amd_smi_options.STATIC, amd_smi_facts.static),
    "amd-smi topology": (amd_smi_options.TOPOLOGY, amd_smi_facts.topology),
    "rocprof-sys-avail": (rocprof_sys_avail_options.AVAIL, rocprof_sys_avail.avail),
}
# What a tool with commands does without one.
ALONE = {"amd-smi": (amd_smi_options.ALONE, amd_smi.alone)}
# Commands of these tools that are no front, and what is one instead.
MISSING = {"rocpd": rocpd_options.MISSING, "nsys": nsys_options.MISSING,
           "amd-smi": amd_smi_options.MISSING, "rocprof-compute": compute_options.MISSING, "omniperf": compute_options.MISSING}
# Options that these tools have without a command, and what of sonde is run.
_TOP = {"-v": ["--version"], "-s": ["doctor"], "--specs": ["doctor"]}
TOP = {"rocprof-compute": _TOP, "omniperf": _TOP, "nsys": {"--version": ["--version"], "-v": ["--version"]}}
# Where the tool itself may be there, for its other commands.
ITSELF = {"nsys": nsys.real_nsys}
# Scripts of their own: only the table is here.
SCRIPTS = {"rpd2tracing.py": rpd.RPD2TRACING}
