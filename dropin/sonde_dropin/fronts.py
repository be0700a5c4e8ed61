"""All fronts, by name: the table of options, and what is done."""

from . import rocprof, rocprofv3, rpd

FRONTS = {
    "runTracer.sh": (rpd.RUN_TRACER, rpd.run_tracer),
    "loadTracer.sh": (rpd.LOAD_TRACER, rpd.load_tracer),
    "rpd_trim": (rpd.RPD_TRIM, rpd.trim),
    "rocprof": (rocprof.ROCPROF, rocprof.rocprof),
    "rocprofv3": (rocprofv3.ROCPROFV3, rocprofv3.rocprofv3),
}
# Scripts of their own: only the table is here.
SCRIPTS = {"rpd2tracing.py": rpd.RPD2TRACING}
