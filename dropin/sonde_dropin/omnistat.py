"""omnistat-usermode and omnistat-query: metrics of a node's GPUs while a job runs, recorded by
sonde record around a program that only waits, and the job's card from the recordings.

The recordings of a job lie in omnistat-JOB of the folder that the commands are called in, one for each node, with
NODE.pid beside it while it goes on: the recorder's process and when that began."""

import glob
import os
import socket
import subprocess
import time

from . import tool
from .table import Front, Usage, options_of, tell_differences

_HERE = "of this node; of all nodes of a job: srun --ntasks-per-node=1 omnistat-usermode ..."
_NO_SERVER = "none is needed: recordings are files in omnistat-JOB"

USERMODE = Front("omnistat-usermode", "omnistat-usermode --start [--interval SEC] | --stop",
                 "Records the metrics of this node's GPUs, beside a job, into omnistat-JOB/NODE.rpd in this folder.",
                 {"What to do": options_of(f"""
                     --start  begin  differs: {_HERE}
                     --startexporters  the same  differs: {_HERE}
                     --stopexporters  end, and finish the file  differs: {_HERE}
                     --stop  the same  differs: {_HERE}
                     --startserver  nothing  differs: {_NO_SERVER}
                     --stopserver  nothing  differs: {_NO_SERVER}"""),
                  "How": options_of("""
                      --interval SEC  seconds between two looks; 10
                      --localjob NAME  the job's name outside of Slurm; local
                      --pushinterval MIN  nothing  differs: nothing is pushed: the file grows all the time""")})

QUERY = Front("omnistat-query", "omnistat-query --job ID [--export DIR]",
              "Summarises a job from omnistat-ID in this folder, as sonde job-report does.",
              {"What": options_of("""
                  --job ID  the job
                  --interval SEC  nothing  differs: each look counts for the time until the next
                  --export DIR  also write the card into DIR  differs: omnistat-rocm.gpu.csv has a row for each GPU
                  --step ID  not done: sonde job-report is of whole recordings
                  --marker NAME  not done: sonde trim cuts a recording, and sonde job-report reads what is left
                  --pdf FILE  not done: sonde job-report --format html makes a page to print""")})

_PATIENCE_S = 60


def _job(parsed):
    return os.environ.get("SLURM_JOB_ID") or parsed.text("localjob", "local")


def _place(job):
    """The recording of this node, without a suffix."""
    if "/" in job:
        raise Usage(f"--localjob: '{job}' is not a name of a folder")
    return os.path.join(f"omnistat-{job}", socket.gethostname())


def _began(process):
    """What tells a process from a later one of the same number; None: it is gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def _recorder(place):
    """The recorder at work there, or None."""
    try:
        with open(place + ".pid", encoding="utf-8") as file:
            process, began = file.read().split()
    except (OSError, ValueError):
        return None
    return int(process) if _began(process) == began else None


def _start(parsed):
    text = parsed.text("interval", "10")
    try:
        hertz = 1 / float(text)
    except (ValueError, ZeroDivisionError) as error:
        raise Usage(f"--interval: '{text}' is not a number of seconds") from error
    place = _place(_job(parsed))
    if _recorder(place) is not None:
        raise tool.Failure(f"{place}.rpd: is being recorded already; omnistat-usermode --stop ends it")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    environment = {**os.environ, "SLURM_JOB_ID": _job(parsed)}  # the card tells it
    with open(place + ".log", "w", encoding="utf-8") as log:
        recorder = subprocess.Popen(
            [tool.sonde(), "record", "-q", "--backends", "none", "--sample", "off", "--metrics", "gpu",
             "--metrics-hz", f"{hertz:g}", "-o", tool.literal(place) + ".rpd", "--", "sleep", "infinity"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment)
    with open(place + ".pid", "w", encoding="utf-8") as file:
        file.write(f"{recorder.pid} {_began(recorder.pid)}\n")
    end = time.monotonic() + _PATIENCE_S
    while not os.path.exists(place + ".rpd"):
        if recorder.poll() is not None or time.monotonic() > end:
            with open(place + ".log", encoding="utf-8", errors="replace") as log:
                said = log.read().strip().splitlines()
            os.unlink(place + ".pid")
            raise tool.Failure(f"{place}.rpd: not recorded: {said[-1] if said else 'see ' + place + '.log'}")
        time.sleep(0.01)


def _stop(parsed):
    place = _place(_job(parsed))
    recorder = _recorder(place)
    if recorder is None:
        raise tool.Failure(f"{place}.rpd: is not being recorded; omnistat-usermode --start begins it")
    os.kill(recorder, 15)
    end = time.monotonic() + _PATIENCE_S
    while _began(recorder) is not None:
        if time.monotonic() > end:
            raise tool.Failure(f"{place}.rpd: its recorder, process {recorder}, does not end")
        time.sleep(0.01)
    os.unlink(place + ".pid")


def usermode(parsed):
    begins = parsed.on("start") or parsed.on("startexporters")
    ends = parsed.on("stop") or parsed.on("stopexporters")
    if begins == ends and not (parsed.on("startserver") or parsed.on("stopserver")):
        raise Usage("say --start or --stop (-h says how)")
    if begins:
        _start(parsed)
    elif ends:
        _stop(parsed)
    tell_differences(USERMODE, parsed)


def query(parsed):
    job = parsed.text("job")
    if job is None:
        raise Usage("--job: needs ID")
    files = sorted(glob.glob(os.path.join(glob.escape(f"omnistat-{job}"), "*.rpd")))
    if not files:
        raise tool.Failure(f"omnistat-{job}: no recordings here (omnistat-usermode --start makes them)")
    tell_differences(QUERY, parsed)
    folder = parsed.text("export")
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "omnistat-rocm.gpu.csv"), "w", encoding="utf-8") as file:
            subprocess.run([tool.sonde(), "job-report", *files, "--format", "csv"], stdout=file, check=True)
    tool.replace(["job-report", *files])

