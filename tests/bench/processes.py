#!/usr/bin/python3
# runs: 1
"""What a short process costs more when it is recorded: a shell starts /bin/true so many times more,
so that the start and the end of the recording itself do not count. The shell stays on one CPU, so
that it is not measured how it goes from one to the other."""

import os
import re
import subprocess
import time

from measuring import FOLDER, SONDE, row

TRACE = FOLDER / "t.rpd"
TIMES = TRACE.with_name("times")
FEW, MANY, ROUNDS = 50, 350, 5
CPU = str(min(os.sched_getaffinity(0)))
SCRIPT = "i=0; while [ $i -lt $0 ]; do /bin/true; i=$((i+1)); done; times > $1"


def run(count, *recorder):
    """Wall time of the run, and the CPU time of the processes that the shell started, in ms."""
    TRACE.unlink(missing_ok=True)
    begin = time.monotonic()
    subprocess.run([*recorder, "taskset", "-c", CPU, "sh", "-c", SCRIPT, str(count), TIMES], check=True)
    wall = time.monotonic() - begin
    children = re.findall(r"(\d+)m([\d.]+)s", TIMES.read_text().splitlines()[1])
    return 1000 * wall, 1000 * sum(60 * float(m) + float(s) for m, s in children)


def main():
    ways = {"alone": (), "recorded": (SONDE, "record", "-q", "-o", TRACE, "--")}
    each = {}  # least of the rounds, wall and CPU time of one process in ms
    for _ in range(ROUNDS):  # in turn, so that all have the same neighbours
        for way, recorder in ways.items():
            few, many = run(FEW, *recorder), run(MANY, *recorder)
            took = [(more - less) / (MANY - FEW) for less, more in zip(few, many)]
            each[way] = list(map(min, took, each.get(way, took)))
    for alone, recorded, name in zip(each["alone"], each["recorded"], ("wall time", "CPU time of its own")):
        row(f"short process, {name} more", round(recorded - alone, 3), "ms", goal=0.5,
            note=f"{alone:.2f} ms alone, {recorded:.2f} ms recorded, {recorded / max(alone, 1e-9):.2f} times")


main()
