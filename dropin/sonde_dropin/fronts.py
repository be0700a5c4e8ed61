"""All fronts, by name: the table of options, and what is done."""

from . import (rocprof, rocprof_sys, rocprof_sys_avail, rocprof_sys_avail_options,
               rocprof_sys_options, rocprofv3, rpd)

FRONTS = {
    "runTracer.sh": (rpd.RUN_TRACER, rpd.run_tracer),
    "loadTracer.sh": (rpd.LOAD_TRACER, rpd.load_tracer),
    "rpdRemote.sh": (rpd.RPD_REMOTE, rpd.remote),
    "rpd_trim": (rpd.RPD_TRIM, rpd.trim),
    "rocprof": (rocprof.ROCPROF, rocprof.rocprof),
    "rocprofv3": (rocprofv3.ROCPROFV3, rocprofv3.rocprofv3),
    "rocprof-sys-sample": (rocprof_sys_options.SAMPLE, rocprof_sys.sample),
    "rocprof-sys-run": (rocprof_sys_options.RUN, rocprof_sys.run),
    "rocprof-sys-avail": (rocprof_sys_avail_options.AVAIL, rocprof_sys_avail.avail),
}
# Scripts of their own: only the table is here.
SCRIPTS = {"rpd2tracing.py": rpd.RPD2TRACING}
