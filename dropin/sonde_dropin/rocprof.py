"""rocprof v1: a recording, and the set of CSV files named after -o."""

import csv
import os
import re

from . import tool
from .files import Files, base_name, demangled, rewrite
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


def _check_input(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        raise tool.Failure(f"{path}: {error.strerror}") from error
    if re.search(r"^\s*pmc\s*:|<metric\b|\bpmc\s*=", text, re.MULTILINE):
        raise Usage(f"{path}: pmc: {ROCPROF.find('-m').note}")


def _period(text):
    parts = text.split(":")
    if len(parts) != 3 or not all(re.fullmatch(r"\d+(m|s|ms|us)", part) for part in parts):
        raise Usage(f"--trace-period: '{text}' is not DELAY:LENGTH:RATE, such as 1s:500ms:10s")
    return [("delay", parts[0]), ("duration", parts[1])]


def _prefix(parsed):
    name = parsed.text("o")
    if name is None:
        given = parsed.text("i")
        name = (os.path.splitext(os.path.basename(given))[0] if given else "results") + ".csv"
    return name[:-4] if name.endswith(".csv") else name


def _kernels(files, source, named, timed):
    """out.csv as rocprof has it: with names for people, and times where they were asked for."""
    def change(row, heading):
        if row is None:
            kept = [name for name in heading if timed or name not in _TIMES]
            return kept + (["DurationNs"] if timed else [])
        row["KernelName"] = named(row["KernelName"])
        row["DurationNs"] = str(int(row["EndNs"]) - int(row["BeginNs"]))
        return True

    if os.path.exists(source):  # there were kernels
        rewrite(source, files.path("kernels.csv"), change, csv.QUOTE_MINIMAL)
        files.place("kernels.csv", ".csv")


def _statistics(files, source, named, end):
    def change(row, heading):
        if row is None:
            return heading
        row["Name"] = named(row["Name"])
        return True

    name = end[1:]
    if os.path.exists(source) and rewrite(source, files.path(name), change):
        files.place(name, end)


def _write(parsed, trace, prefix, asked):
    timed = _on(parsed, "timestamp") or bool(asked & {"stats", "json"})
    named = base_name if _on(parsed, "basenames") else demangled
    with Files(prefix) as files:
        if not files.export(trace, "rocprof", "all"):
            return 1
        source = files.path("all") + "/results"
        _kernels(files, source + ".csv", named, timed)
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


def rocprof(parsed):
    if not parsed.program:
        raise Usage("no program to run (rocprof --help)")
    if "i" in parsed:
        _check_input(parsed["i"])
    asked = _asked(parsed)
    prefix = _prefix(parsed)
    folder = os.path.dirname(prefix)
    if folder and not os.path.isdir(folder):
        raise tool.Failure(f"{folder}: no such folder")
    options = [("sample", "off"), ("metrics", "off"), ("backends", "hip,hsa,roctx,cpu")]
    if not _on(parsed, "trace-start", True):
        options.append(("no-start", None))
    if "trace-period" in parsed:
        options += _period(parsed["trace-period"])
    _on(parsed, "timestamp"), _on(parsed, "basenames")  # a wrong value is told before the run
    tell_differences(ROCPROF, parsed)
    status, trace = tool.record(tool.literal(prefix) + ".rpd", parsed.program, options)
    if trace is not None:
        wrote = _write(parsed, trace, prefix if trace == prefix + ".rpd" else trace[:-4], asked)
        status = status or wrote
    tool.end_like(status)
