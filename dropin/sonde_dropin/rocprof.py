"""rocprof v1: a recording, and the set of CSV files named after -o."""

import csv
import os
import re

from . import counters, derived, tool
from .files import Files, base_name, demangled, private, rewrite
from .rocprof_options import ROCPROF
from .table import Usage, tell_differences

_TIMES = ("DispatchNs", "BeginNs", "EndNs", "CompleteNs")
_UNITS = {"m": "m", "s": "s", "ms": "ms", "us": "us"}


def _on(parsed, key, otherwise=False):
    text = parsed.text(key)
    if text is None:
        return otherwise
    if text not in ("on", "off"):
        raise Usage(f"--{key}: '{text}' is neither on nor off")
    return text == "on"


def _asked(parsed):
    asked = set()
    for option in ROCPROF.options:
        if parsed.get(option.key):
            asked.update(option.sets)
    return asked


def _period(text):
    parts = text.split(":")
    if len(parts) != 3 or not all(re.fullmatch(r"\d+(m|s|ms|us)", part) for part in parts):
        raise Usage(f"--trace-period: '{text}' is not DELAY:LENGTH:RATE, such as 1s:500ms:10s")
    return [("period", text)]


def _prefix(parsed):
    name = parsed.text("o")
    if name is not None and os.path.exists(name) and not os.path.isfile(name):
        raise Usage(f"-o: '{name}' is no file; the names of all files are made from it, such as -o results.csv")
    if name is None:
        given = parsed.text("i")
        name = (os.path.splitext(os.path.basename(given))[0] if given else "results") + ".csv"
    return name[:-4] if name.endswith(".csv") else name


def _kernels(files, trace, source, named, timed, wanted):
    """out.csv as rocprof has it: with names for people, and times where they were asked for; of a run with
    counters the kernels that were counted."""
    fixed, columns, index = [], None, 0

    def change(row, heading):
        nonlocal fixed, columns, index
        if row is None:
            columns = counters.Columns(trace, wanted, heading) if wanted else None
            fixed = heading[:heading.index("obj") + 1] + (columns.names if columns else [])
            return fixed + ([*_TIMES, "DurationNs"] if timed else [])
        row["KernelName"] = named(row["KernelName"])
        row["DurationNs"] = str(int(row["EndNs"]) - int(row["BeginNs"]))
        if columns and not columns.fill(row, int(row["gpu-id"]), int(row["BeginNs"]), int(row["EndNs"])):
            return False
        row["Index"] = str(index)
        index += 1
        return True

    if os.path.exists(source):  # there were kernels
        rewrite(source, files.path("kernels.csv"), change, csv.QUOTE_MINIMAL)
        files.place("kernels.csv", ".csv")


def _statistics(files, source, named, end):
    """Names that become one are one row: kernels of one template without its arguments."""
    if not os.path.exists(source):
        return
    sums = {}
    with open(source, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            calls, total = sums.get(named(row["Name"]), (0, 0))
            sums[named(row["Name"])] = calls + int(row["Calls"]), total + int(row["TotalDurationNs"])
    whole = sum(total for _, total in sums.values())
    with open(files.path("statistics"), "w", newline="", encoding="utf-8", opener=private) as file:
        out = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        out.writerow(["Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage"])
        for name, (calls, total) in sorted(sums.items(), key=lambda row: (-row[1][1], row[0])):
            out.writerow([name, calls, total, total // calls, total * 100 / whole if whole else 0.0])
    files.place("statistics", end)


def _write(parsed, trace, prefix, asked, wanted):
    timed = _on(parsed, "timestamp") or bool(asked & {"stats", "json"})
    named = base_name if _on(parsed, "basenames") else demangled
    with Files(prefix) as files:
        if not files.export(trace, "rocprof", "all"):
            return 1
        source = files.path("all") + "/results"
        _kernels(files, trace, source + ".csv", named, timed, wanted)
        if "stats" in asked:
            _statistics(files, source + ".stats.csv", named, ".stats.csv")
        for domain in sorted(asked & {"hip", "hsa"}):
            _statistics(files, f"{source}.{domain}_stats.csv", str, f".{domain}_stats.csv")
        if asked & {"hip", "hsa"}:
            _statistics(files, source + ".copy_stats.csv", str, ".copy_stats.csv")
        if "json" in asked and files.export(trace, "chrome", "trace.json"):
            files.place("trace.json", ".json")
        files.tell("rocprof", trace)
    return 0


def _run(parsed, prefix, wanted):
    """Records or counts; returns the status and the trace."""
    output = tool.literal(prefix) + ".rpd"
    starts = _on(parsed, "trace-start", True)
    if wanted:
        for option, given in (("--trace-start", not starts), ("--trace-period", "trace-period" in parsed)):
            if given:
                raise Usage(f"{option}: not with pmc:, which counts in all of the program")
        tell_differences(ROCPROF, parsed)
        return tool.profile(output, parsed.program, counters.options(wanted))
    options = [("sample", "off"), ("metrics", "off"), ("backends", "hip,hsa,roctx,cpu")]
    if not starts:
        options.append(("no-start", None))
    if "trace-period" in parsed:
        options += _period(parsed["trace-period"])
    tell_differences(ROCPROF, parsed)
    return tool.record(output, parsed.program, options)


def rocprof(parsed):
    if parsed.on("list-basic"):
        tell_differences(ROCPROF, parsed)
        tool.replace(["avail", "--category", "counters"])
    if parsed.on("list-derived"):
        print(derived.listing())
        return
    if not parsed.program:
        raise Usage("no program to run (rocprof --help)")
    wanted = counters.read_input(parsed["i"]) if "i" in parsed else None
    asked = _asked(parsed)
    prefix = _prefix(parsed)
    folder = os.path.dirname(prefix)
    if folder and not os.path.isdir(folder):
        raise tool.Failure(f"{folder}: no such folder")
    _on(parsed, "timestamp"), _on(parsed, "basenames")  # a wrong value is told before the run
    status, trace = _run(parsed, prefix, wanted)
    if trace is not None:
        wrote = _write(parsed, trace, prefix if trace == prefix + ".rpd" else trace[:-4], asked, wanted)
        status = status or wrote
    tool.end_like(status)
