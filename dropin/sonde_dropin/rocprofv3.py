"""rocprofv3: a recording, and its files."""

import os
import re
import shutil

from . import counters, jobs, summary, tool
from .files import Files, base_name, demangled, rewrite
from .rocprofv3_options import ROCPROFV3
from .table import Usage, tell_differences

_FORMATS = {"csv": None, "pftrace": ("perfetto", ".pftrace"), "otf2": ("otf2", ".otf2"),
            "rocpd": ("rocpd", ".db"), "json": ("rocprofv3-json", ".json")}
_API = ("hip", "hsa", "marker", "rccl")
_SECONDS = {"hour": 3600e9, "min": 60e9, "sec": 1e9, "msec": 1e6, "usec": 1e3, "nsec": 1}
_RANKS = ("PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "RANK")


def _is_before_7(parsed):
    version = parsed.text("sonde-as") or os.environ.get("SONDE_AS") or "7.0"
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise Usage(f"--sonde-as: '{version}' is not a version such as 6.4")
    return int(version.split(".")[0]) < 7


def _formats(parsed):
    given = [word for text in parsed.get("output-format", []) for word in text.split(",") if word]
    formats = given or (["csv"] if _is_before_7(parsed) else ["rocpd"])
    for word in formats:
        if word not in _FORMATS:
            raise Usage(f"-f: '{word}' is none of {', '.join(_FORMATS)}")
    return formats


def _domains(parsed):
    """As the options say, in their order: a later one can take a domain out again."""
    domains = set()
    for key in parsed.order:
        option = ROCPROFV3.find("--" + key)
        if option is None or not option.sets:
            continue
        if parsed[key]:
            domains.update(option.sets)
        else:
            domains.difference_update(option.sets)
    return domains


def _period(parsed):
    unit = parsed.text("collection-period-unit", "sec")
    if unit not in _SECONDS:
        raise Usage(f"--collection-period-unit: '{unit}' is none of {', '.join(_SECONDS)}")
    periods = parsed.get("collection-period")
    if not periods:
        return []
    parts = periods[0].split(":")
    try:
        delay, length = (int(float(part) * _SECONDS[unit]) for part in parts[:2])
        repeat = int(parts[2]) if len(parts) == 3 else 1
    except ValueError:
        delay = -1
    if len(parts) not in (2, 3) or delay < 0 or length <= 0 or repeat < 0:
        raise Usage(f"--collection-period: '{periods[0]}' is not DELAY:LENGTH:REPEAT, such as 5:1:0")
    return [("period", f"{delay}ns:{length}ns:{delay + length}ns:{repeat}")]


def _is_chosen_rank(parsed):
    if "profile-mpi-ranks" not in parsed:
        return True
    names = [parsed["mpi-world-rank-variable"]] if "mpi-world-rank-variable" in parsed else _RANKS
    rank = next((os.environ[name] for name in names if os.environ.get(name, "").isdigit()), None)
    if rank is None:
        return True
    for part in ",".join(parsed["profile-mpi-ranks"]).split(","):
        low, dash, high = part.partition("-")
        if not low.isdigit() or (dash and not high.isdigit()):
            raise Usage(f"--profile-mpi-ranks: '{part}' is not a rank")
        if int(low) <= int(rank) <= int(high or low):
            return True
    return False


def _output(parsed):
    """What `sonde record` is told, with the keys."""
    name = parsed.text("output-file")
    folder = parsed.text("output-directory", os.environ.get("ROCPROF_OUTPUT_PATH", ""))
    if name is None:
        name = os.environ.get("ROCPROF_OUTPUT_FILE_NAME") or "%hostname%/%pid%"
    path = os.path.join(folder, name) + "_results.rpd"
    # Folders whose names have keys are made by the recorder.
    whole = os.path.dirname(path)
    if "%" not in whole and "$env{" not in whole and whole:
        os.makedirs(whole, exist_ok=True)
    return path


def _names(parsed):
    if parsed.on("truncate-kernels"):
        return base_name
    return str if parsed.on("mangled-kernels") else demangled


def _place_table(files, source, column, named):
    """One CSV file, if it has rows."""
    name = os.path.basename(source)[len("results_"):]

    def change(row, heading):
        if row is None:
            return heading
        if column in row and named is not None:
            row[column] = named(row[column])
        return True

    if not os.path.exists(source):
        return
    if rewrite(source, files.path(name), change):
        files.place(name, "_" + name)


def write_csv(files, folder, domains, named):
    def source(name):
        return os.path.join(folder, f"results_{name}.csv")

    _place_table(files, source("agent_info"), "", None)
    for domain in _API:
        if domain in domains:
            _place_table(files, source(f"{domain}_api_trace"), "", None)
    if "kernel" in domains:
        _place_table(files, source("kernel_trace"), "Kernel_Name", named)
    if "memory_copy" in domains:
        _place_table(files, source("memory_copy_trace"), "", None)
    if "counters" in domains:
        _place_table(files, source("counter_collection"), "Kernel_Name", named)


def _figures(folder, domains, named):
    found = summary.read(folder, [name for name in summary.DOMAINS if name.replace("_api", "") in domains])
    if "kernel" in found:
        found["kernel"] = summary.joined(found["kernel"], named)
    return found


def _write_statistics(files, folder, domains, named):
    found = _figures(folder, domains, named)
    for domain, names in found.items():
        summary.write(files.path(domain), names)
        files.place(domain, f"_{domain}_stats.csv")
    if found:
        summary.write_domains(files.path("domains"), found)
        files.place("domains", "_domain_stats.csv")


def _summaries(parsed, folder, domains, named):
    found = _figures(folder, domains, named)
    words = summary.text(found, parsed.on("summary-per-domain"), parsed.on("summary"),
                         parsed.get("summary-groups", []), parsed.text("summary-units", "nsec"))
    summary.show(words, parsed.text("summary-output-file", "stderr"))


def _wanted(parsed):
    """What --pmc and the options about kernels choose, or None; wrong ones are told before anything runs."""
    names = list(dict.fromkeys(name for text in parsed.get("pmc", []) for name in text.split(",") if name))
    if not names:
        return None
    for name in names:
        if ":" in name:
            raise Usage(f"--pmc: '{name}': all GPUs are counted; leave out what follows the colon")
    for option in ("selected-regions", "collection-period"):
        if parsed.get(option):
            raise Usage(f"--{option}: not with --pmc, which counts in all of the program")
    for option in ("kernel-include-regex", "kernel-exclude-regex"):
        try:
            re.compile(parsed.text(option, ""))
        except re.error as error:
            raise Usage(f"--{option}: '{parsed[option]}': {error}") from error
    counters.Iterations(parsed.get("kernel-iteration-range", []))
    return counters.Wanted(names, parsed.text("kernel-include-regex", ""), [], [])


def _place_counters(files, folder, trace, parsed, wanted, named):
    source = os.path.join(folder, "results_counter_collection.csv")
    exclude = parsed.text("kernel-exclude-regex")
    in_range = counters.Iterations(parsed.get("kernel-iteration-range", []))

    def keep(kernel, dispatch):
        excluded = exclude and (re.search(exclude, kernel) or re.search(exclude, demangled(kernel)))
        return not excluded and in_range(kernel, dispatch)

    if os.path.exists(source) and counters.collection(source, files.path("counters"), trace, wanted, keep, named):
        files.place("counters", "_counter_collection.csv")


def _write(parsed, trace, formats, domains, wanted):
    base = trace[:-4] if trace.endswith(".rpd") else trace
    base = base[:-len("_results")] if base.endswith("_results") else base
    named = _names(parsed)
    sums = parsed.on("summary") or parsed.on("summary-per-domain") or "summary-groups" in parsed
    failed = 0
    with Files(base) as files:
        if "csv" in formats or parsed.on("stats") or sums:
            if not files.export(trace, "rocprofv3", "all"):
                return 1
            if "csv" in formats:
                write_csv(files, files.path("all"), domains, named)
                if wanted:
                    _place_counters(files, files.path("all"), trace, parsed, wanted, named)
            if parsed.on("stats"):
                _write_statistics(files, files.path("all"), domains, named)
        for word in formats:
            if word == "csv":
                continue
            form, end = _FORMATS[word]
            if files.export(trace, form, "made" + end):
                place_export(files, "made" + end, base, end)
            else:
                failed = 1
        if sums:
            _summaries(parsed, files.path("all"), domains, named)
        files.tell("rocprofv3", trace)
    return failed


def place_export(files, name, base, end):
    """An OTF2 archive is a folder, which cannot be replaced in one step."""
    target = base + "_results" + end
    if os.path.isdir(files.path(name)) and os.path.isdir(target):
        shutil.rmtree(target)
        files.replaced += 1
    files.place(name, "_results" + end)


def _check(parsed):
    """What is wrong is told before anything runs."""
    if parsed.text("summary-units", "nsec") not in summary.UNITS:
        raise Usage(f"-u: '{parsed['summary-units']}' is none of {', '.join(summary.UNITS)}")
    for pattern in parsed.get("summary-groups", []):
        try:
            re.compile(pattern)
        except re.error as error:
            raise Usage(f"--summary-groups: '{pattern}': {error}") from error
    return _formats(parsed), _domains(parsed), _period(parsed), _wanted(parsed)


def _run_once(parsed):
    formats, domains, period, wanted = _check(parsed)
    if wanted:
        chosen = [("counter", ",".join(wanted.names))] + ([("kernel", wanted.kernels)] if wanted.kernels else [])
        status, trace = tool.profile(_output(parsed), parsed.program, chosen)
    else:
        options = [("sample", "off"), ("metrics", "off"), ("backends", "hip,hsa,roctx,cpu")] + period
        if parsed.on("selected-regions"):
            options.append(("no-start", None))
        status, trace = tool.record(_output(parsed), parsed.program, options)
    if trace is None:
        return status
    wrote = _write(parsed, trace, formats, domains, wanted)
    return status or wrote


def rocprofv3(parsed):
    if parsed.on("list-avail"):
        tell_differences(ROCPROFV3, parsed)
        tool.replace(["avail", "--category", "counters"])
    if not parsed.program:
        raise Usage("no program to run: rocprofv3 [OPTIONS] -- APP (--help lists the options)")
    if not _is_chosen_rank(parsed):
        try:
            os.execvp(parsed.program[0], parsed.program)
        except OSError as error:
            raise tool.Failure(f"{parsed.program[0]}: {error.strerror}", 127) from error
    runs = jobs.read(ROCPROFV3, parsed) if "input" in parsed else [parsed]
    for run in runs:
        _check(run)
    tell_differences(ROCPROFV3, parsed)
    status = 0
    for run in runs:
        one = _run_once(run)
        if one < 0:
            tool.end_like(one)
        status = status or one
    tool.end_like(status)
