"""rocprof-sys-sample and rocprof-sys-run: a recording, a trace for Perfetto and a profile."""

import os
import shutil
import sys

from . import tool
from .files import Files
from .rocprof_sys_options import RUN, SAMPLE
from .table import Usage, tell_differences

_FORMATS = ("text", "json", "console")


def _number(parsed, key, text):
    try:
        value = float(text)
    except ValueError:
        value = -1
    if value < 0:
        raise Usage(f"--{key}: '{text}' is not a number")
    return value


def _rate(parsed, key, text):
    return str(max(1, round(_number(parsed, key, text))))


def _samples(parsed, always):
    """The settings of call stacks."""
    clock, rate = "cpu", parsed.text("sampling-freq")
    kind = parsed.get("sample")
    if kind == "realtime":
        clock = "wall"
    for key, meant in (("sample-cputime", "cpu"), ("sample-realtime", "wall")):
        if key in parsed:
            clock, rate = meant, parsed[key][0]
    wanted = always or kind not in (None, False) or rate is not None
    if not wanted:
        return [("sample", "off")]
    options = [("sample-clock", clock)]
    return options + ([("sample", _rate(parsed, "sampling-freq", rate))] if rate is not None else [])


def _settings(parsed, always):
    # What a configuration file says counts where the command line says nothing.
    options = _samples(parsed, always)
    if "config" in parsed and not any(key in parsed for key in ("sampling-freq", "sample-cputime", "sample-realtime", "sample")):
        options = []
    for key, name in (("wait", "delay"), ("duration", "duration"), ("trace-wait", "delay"),
                      ("trace-duration", "duration")):
        if key in parsed and name not in [chosen for chosen, _ in options]:
            options.append((name, f"{int(_number(parsed, key, parsed[key]) * 1e9)}ns"))
    if "process-freq" in parsed:
        options.append(("metrics-hz", _rate(parsed, "process-freq", parsed["process-freq"])))
    if "config" in parsed:
        for path in parsed["config"]:
            tool.existing(path, os.path.isfile)
        options.append(("rocprof-sys-config", parsed["config"][-1]))
    if "include" in parsed:
        options.append(("include", ",".join(",".join(parsed["include"]).split(","))))
    return options


def _formats(parsed):
    formats = [word for text in parsed.get("profile-format", ["text", "json"]) for word in text.split(",")]
    for word in formats:
        if word not in _FORMATS:
            raise Usage(f"--profile-format: '{word}' is none of {', '.join(_FORMATS)}")
    return formats


def _output(parsed):
    words = parsed.get("output") or ["rocprof-sys-%tag%-output"]
    prefix = words[1] if len(words) > 1 else ""
    return os.path.join(words[0], "%launch_time%", prefix + "trace-%pid%.rpd")


def _profile(files, trace, end, formats):
    if not files.export(trace, "wall-clock", "profile"):
        return 1
    for word, extension in (("text", ".txt"), ("json", ".json")):
        made = os.path.join("profile", "wall_clock" + extension)
        if word in formats and os.path.exists(files.path(made)):
            files.place(made, "wall_clock" + end + extension)
    text = files.path("profile/wall_clock.txt")
    if "console" in formats:
        text = text if os.path.exists(text) else files.prefix + "wall_clock" + end + ".txt"
        with open(text, encoding="utf-8") as file:
            sys.stderr.write(file.read())
    return 0


def _write(name, parsed, trace):
    # trace-PID.rpd, or trace-PID.rankN.rpd
    head, tail = os.path.split(trace)
    before, _, rest = tail.rpartition("trace-")
    end = "-" + rest[:-4]
    profile = parsed.on("profile") or parsed.on("flat-profile")
    whole = parsed.on("trace") or "trace-file" in parsed or (not profile and parsed.get("trace") is None)
    failed = 0
    with Files(os.path.join(head, before)) as files:
        if whole:
            if files.export(trace, "perfetto", "trace.proto"):
                files.place("trace.proto", "perfetto-trace" + end + ".proto")
            else:
                failed = 1
        if profile:
            failed = _profile(files, trace, end, _formats(parsed)) or failed
        if whole and not failed and "trace-file" in parsed:
            _move_trace(files, parsed["trace-file"], head, end)
        files.tell(name, trace)
    return failed


def _move_trace(files, wanted, head, end):
    """--trace-file: a name in the folder of the run, or an absolute one."""
    made = files.prefix + "perfetto-trace" + end + ".proto"
    target = os.path.join(head, wanted)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.lexists(target):
            files.replaced += 1
        shutil.move(made, target)
    except OSError as error:
        raise tool.Failure(f"{target}: {error.strerror}") from error
    files.made.remove("perfetto-trace" + end + ".proto")
    files.made.append(target)


def _do(front, parsed, always):
    if not parsed.program:
        raise Usage(f"no program to run: {front.usage} (--help lists the options)")
    _formats(parsed)
    options = _settings(parsed, always)
    tell_differences(front, parsed)
    status, trace = tool.record(_output(parsed), parsed.program, options)
    if trace is not None:
        wrote = _write(front.name, parsed, trace)
        status = status or wrote
    tool.end_like(status)


def sample(parsed):
    _do(SAMPLE, parsed, True)


def run(parsed):
    _do(RUN, parsed, False)
