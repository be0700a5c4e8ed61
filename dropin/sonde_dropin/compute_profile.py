"""rocprof-compute profile and omniperf profile: sonde profile, and its counters as a workload folder."""

import csv
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile

from . import compute_options, counters, tool
from .table import Usage, tell_differences

_TRACE = "profile.rpd"
_FILES = ("pmc_perf.csv", "sysinfo.csv", "roofline.csv", "profiling_config.yaml", "log.txt")
_PASSES = "perfmon"
_SETS = {"compute_thruput_util": "sol", "compute_thruput_flops": "sol", "mem_thruput": "sol",
         "launch_stats": "launch"}
_PANELS = {"2": "sol", "3": "memory", "4": "roofline", "6": "launch", "7": "launch", "21": "samples"}  # any other takes all
_BLOCKS = ("SQ", "SQC", "TA", "TD", "TCP", "TCC", "SPI", "CPC", "CPF")


def _set(parsed):
    """What sonde profile counts."""
    if "set" in parsed:
        if "block" in parsed:
            raise Usage("--set: not with --block")
        if parsed["set"] not in _SETS:
            raise Usage(f"--set: '{parsed['set']}' is none of {', '.join(_SETS)}")
        return _SETS[parsed["set"]]
    if parsed.on("roof-only"):
        return "roofline"
    sets = set()
    for block in parsed.get("block", []):
        if block not in _BLOCKS and not re.fullmatch(r"\d{1,2}(\.\d{1,2}){0,2}", block):
            raise Usage(f"--block: '{block}' is not a panel, table or metric; 2, 7.2 and 7.2.0 are")
        sets.add(_PANELS.get(block.split(".")[0], "all"))
    if sets == {"samples"}:
        return "launch"  # there is no folder without counters
    sets.discard("samples")
    return sets.pop() if len(sets) == 1 else "all"


def dispatches(texts):
    """0 and 4:7, whose end is not included, as sonde profile has them."""
    ranges = []
    for text in texts:
        found = re.fullmatch(r"(\d+)(?::(\d+))?", text)
        if not found or (found[2] and int(found[2]) <= int(found[1])):
            raise Usage(f"--dispatch: '{text}' is not a dispatch; 0 and 4:7 are")
        ranges.append(f"{found[1]}:{int(found[2]) - 1}" if found[2] else text)
    return ",".join(ranges)


def _base(parsed):
    """The folder above that of the GPU, or the very folder."""
    name = parsed.text("name")
    if not name:
        raise Usage("-n: needs NAME")
    if "/" in name:
        raise Usage(f"-n: '{name}': a name, not a path; --path says where")
    return parsed.text("path") or os.path.join("workloads", name)


def _folder(parsed, base, model):
    below = parsed.text("subpath", "" if "path" in parsed else "gpu_model")
    if below not in ("", "gpu_model", "node_name"):
        raise Usage(f"--subpath: '{below}' is neither gpu_model nor node_name")
    return os.path.join(base, {"gpu_model": model, "node_name": socket.gethostname()}.get(below, ""))


def _check_free(folder):
    """A workload of ours, which has its trace, is replaced; files of others would be read with it."""
    files = [name for name in (os.listdir(folder) if os.path.isdir(folder) else [])
             if os.path.isfile(os.path.join(folder, name))]
    others = [name for name in files if _TRACE not in files or name not in (*_FILES, _TRACE)]
    if _TRACE not in files and os.path.exists(os.path.join(folder, _PASSES)):
        others.append(_PASSES)
    if others:
        raise tool.Failure(f"{folder}: has other files, such as {sorted(others)[0]}; remove it, or give another --path")


def _check_before(parsed, base):
    """The GPU's name is not known yet, so each folder that may be meant is looked at."""
    folder = _folder(parsed, base, "*")
    parent, last = os.path.split(folder)
    if last != "*":
        _check_free(folder)
        return
    for name in os.listdir(parent) if os.path.isdir(parent) else []:
        if os.path.isdir(os.path.join(parent, name)):
            _check_free(os.path.join(parent, name))


def _workload(parsed, base, trace):
    """Writes the folder; returns its name, or None where that failed."""
    with tempfile.TemporaryDirectory(dir=base, prefix=".sonde-") as inside:
        made = os.path.join(inside, parsed["name"])
        if not tool.sonde_quietly("export", trace, "--format", "rocprof-compute", "-o", made):
            return None
        with open(os.path.join(made, "sysinfo.csv"), newline="", encoding="utf-8") as file:
            facts = next(csv.DictReader(file))
        folder = os.path.join(_folder(parsed, base, facts["gpu_model"]), "")
        os.makedirs(folder, exist_ok=True)
        for name in _FILES:
            if os.path.exists(os.path.join(made, name)):
                os.replace(os.path.join(made, name), folder + name)
            elif os.path.exists(folder + name):
                os.remove(folder + name)  # of the run before
        shutil.rmtree(folder + _PASSES, ignore_errors=True)
        os.replace(os.path.join(made, _PASSES), folder + _PASSES)
    os.replace(trace, folder + _TRACE)
    return folder


def _samples(parsed):
    """Options of sonde profile for samples of program counters, which are panel 21."""
    if "21" not in [block.split(".")[0] for block in parsed.get("block", [])]:
        return []
    interval = parsed.text("pc-sampling-interval", "1000")
    if not re.fullmatch(r"[1-9]\d*", interval):
        raise Usage(f"--pc-sampling-interval: '{interval}' is not a number")
    return [("pc-sample", interval)]


def _profile(front, parsed):
    if parsed.on("list-sets"):
        print("\n".join(_SETS))
        return
    if "list-metrics" in parsed:
        tool.replace(["avail", "kernel-metrics", "--gpu", parsed["list-metrics"]])
    if parsed.on("specs"):
        tool.replace(["doctor"])
    base = _base(parsed)
    if not parsed.program:
        raise Usage(f"no program to run: {front.usage}")
    options = [("set", _set(parsed)), *_samples(parsed)]
    if not parsed.on("no-roof"):
        options.append(("roofs", None))
    if "kernel" in parsed:
        options.append(("kernel", "|".join(counters.literal_pattern(name) for name in parsed["kernel"])))
    if "dispatch" in parsed:
        options.append(("dispatch", dispatches(parsed["dispatch"])))
    _check_before(parsed, base)
    tell_differences(front, parsed)
    os.makedirs(base, exist_ok=True)
    status, trace = tool.profile(tool.literal(os.path.join(base, "profile.rpd")), parsed.program, options)
    folder = _workload(parsed, base, trace) if trace else None
    if folder:
        print(f"{front.name}: {folder}; {front.name.split()[0]} analyze -p {shlex.quote(folder)} shows it",
              file=sys.stderr)
    else:
        status = status or 1
    tool.end_like(status)


def rocprof_compute(parsed):
    return _profile(compute_options.ROCPROF_COMPUTE_PROFILE, parsed)


def omniperf(parsed):
    return _profile(compute_options.OMNIPERF_PROFILE, parsed)
