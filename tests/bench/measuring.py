"""What the scripts of this folder share: where things are, the rows that they print, and commands that are timed."""

import json
import os
import pathlib
import subprocess
import sys
import time
from typing import NamedTuple

BUILD, SONDE = os.environ["SONDE_BUILD"], os.environ["SONDE"]
FOLDER = pathlib.Path(os.environ["SONDE_BENCH_DIR"])
SOFTGPU = f"{BUILD}/bin/softgpu"


def row(name, value, unit, **more):
    """Prints a measurement; what is None is left out."""
    said = {key: what for key, what in more.items() if what is not None}
    print(json.dumps({"name": name, "value": value, "unit": unit, **said}), flush=True)


def need_softgpu(*others):
    """Ends the measurement, which has no rows then, where the build lacks the software GPU or one of these."""
    if not all(map(os.path.exists, (SOFTGPU, *others))):
        print("no software GPU in this build", file=sys.stderr)
        sys.exit(0)


class Taken(NamedTuple):
    wall_s: float
    cpu_s: float  # of the processes that it waited for, too
    peak_mb: float
    status: int


def timed(*command, check=True):
    """What a command took."""
    started = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if check and process.returncode != 0:
        raise SystemExit(f"{' '.join(process.args)} ended with {process.returncode}")
    return Taken(time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, process.returncode)


def cpu_seconds(pid):
    """CPU time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make_cold(path):
    """Takes a file out of the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
