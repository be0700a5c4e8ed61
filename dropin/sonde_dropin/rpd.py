"""RPD's commands: runTracer.sh, loadTracer.sh, rpdRemote.sh, rpd_trim; the table of rpd2tracing.py's options, which
is a script of its own."""

import os
import signal
import sqlite3

from . import tool
from .table import Front, Usage, options_of

_OUTPUT = {"Output": options_of("""
    -o FILE  the trace, trace.rpd by default; an existing trace is replaced. In a job of several ranks each has its
        own: FILE.rankN.rpd""")}

RUN_TRACER = Front("runTracer.sh", "runTracer.sh [-o FILE] COMMAND...",
                   "Records a command into an .rpd, with sonde record. RPDT_AUTOSTART=0 leaves starting "
                   "to the program,\nRPDT_STACKFRAMES=1 takes the stacks of launches.",
                   _OUTPUT, "word")

LOAD_TRACER = Front("loadTracer.sh", "loadTracer.sh [-o FILE] COMMAND...",
                    "As runTracer.sh, but the program starts recording itself: rpdTracerControl, "
                    "sonde.start() or sonde_start().",
                    _OUTPUT, "word")

RPD_REMOTE = Front("rpdRemote.sh", "rpdRemote.sh start|stop PID",
                   "Starts and stops recording in a process that was started with librpd_remote.so:\n"
                   "LD_PRELOAD=librpd_remote.so loadTracer.sh COMMAND... PID is that of the program itself.",
                   {}, "", 2)

RPD_TRIM = Front("rpd_trim", "rpd_trim FILE [--start TIME] [--end TIME] [--dryrun]",
                 "Cuts an .rpd to a part of its time, in place. TIME is nanoseconds of the trace's own "
                 "clock, a share of its\nlength (25%), or +TIME: after the start of the trace.",
                 {"Part": options_of("""
                     --start TIME  where the part begins
                     --end TIME  where the part ends
                     --dryrun  say what would stay, and change nothing""")},
                 "", 1)

RPD2TRACING = Front("rpd2tracing.py", "rpd2tracing.py IN.rpd [OUT.json] [--start TIME] [--end TIME] "
                    "[--format object|array]",
                    "Writes an .rpd as Chrome JSON.",
                    {"Part": options_of("""
                        --start TIME  microseconds of the trace's own clock, or 25%
                        --end TIME  the same
                        --format object|array  form of the JSON""")},
                    "", 2)

_ON = ("1", "on", "true", "yes")


def _trace(parsed, options):
    if not parsed.program:
        raise Usage("no command to record (-h says how)")
    if os.environ.get("RPDT_STACKFRAMES", "").lower() in _ON:
        options = options + ["--launch-stacks"]
    output = tool.literal(parsed.text("o", "trace.rpd"))
    tool.replace(["record", "--overwrite", "-o", output] + options + ["--"] + parsed.program)


def run_tracer(parsed):
    starts = os.environ.get("RPDT_AUTOSTART", "1") != "0"
    _trace(parsed, [] if starts else ["--no-start"])


def load_tracer(parsed):
    _trace(parsed, ["--no-start"])


def remote(parsed):
    words = parsed.words
    if len(words) != 2 or words[0] not in ("start", "stop") or not words[1].isdigit():
        raise Usage("say start or stop, and the number of the process (-h says how)")
    process = int(words[1])
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as file:
            maps = file.read()
    except FileNotFoundError as error:
        raise tool.Failure(f"{process}: no such process") from error
    except OSError as error:
        raise tool.Failure(f"{process}: {error.strerror}") from error
    # A signal would end a program that does not wait for it.
    if "librpd_remote.so" not in maps:
        raise tool.Failure(f"{process}: started without librpd_remote.so; start it with "
                           "LD_PRELOAD=librpd_remote.so loadTracer.sh")
    if "libsonde-agent.so" not in maps:
        raise tool.Failure(f"{process}: is not being recorded; give the number of the program that "
                           "loadTracer.sh runs")
    try:
        os.kill(process, signal.SIGUSR1 if words[0] == "start" else signal.SIGUSR2)
    except OSError as error:
        raise tool.Failure(f"{process}: {error.strerror}") from error


def _span(path):
    """First start and last end of what the trace has."""
    try:
        database = sqlite3.connect(tool.to_read(path), uri=True)
        row = database.execute(
            'SELECT min(s), max(e) FROM (SELECT min(start) AS s, max("end") AS e FROM rocpd_api '
            'UNION ALL SELECT min(start), max("end") FROM rocpd_op)').fetchone()
    except sqlite3.Error as error:
        raise tool.Failure(f"{path}: {error}") from error
    return row if row[0] is not None else (0, 0)


def _moment(option, text, span):
    """TIME as nanoseconds after the trace's start."""
    number = text[1:] if text.startswith("+") else text
    try:
        if number.endswith("%"):
            value = int((span[1] - span[0]) * float(number[:-1]) / 100)
        else:
            value = int(number) - (0 if text.startswith("+") else span[0])
    except ValueError as error:
        raise Usage(f"{option}: '{text}' is not a time (nanoseconds, 25%, +TIME)") from error
    return max(value, 0)


def trim(parsed):
    if not parsed.words:
        raise Usage("no trace to trim (-h says how)")
    path = tool.existing(parsed.words[0], os.path.isfile)
    span = _span(path)
    command = ["trim"]
    if "start" in parsed:
        command += ["--from", f"{_moment('--start', parsed['start'], span)}ns"]
    if "end" in parsed:
        command += ["--to", f"{_moment('--end', parsed['end'], span)}ns"]
    if len(command) == 1:
        raise Usage("no part is given: --start, --end")
    command.append("--dry-run" if parsed.on("dryrun") else "--in-place")
    tool.replace(command + [os.path.join(".", path) if path.startswith("-") else path])
