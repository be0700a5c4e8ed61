#!/usr/bin/python3
# runs: 1
"""What reading metrics costs the recorder: CPU time of the recorder itself with and without them,
while the traced program sleeps, and what the ticks count of themselves."""

import json
import os
import re
import resource
import sqlite3
import subprocess
from pathlib import Path

TRACE = Path(os.environ["SONDE_BENCH_DIR"]) / "t.rpd"
SECONDS, ROUNDS = 5, 3
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def record(*options):
    """CPU seconds of the recorder (the program's, some ms, included)."""
    TRACE.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([os.environ["SONDE"], "record", "-q", *options, "-o", TRACE, "--", "sleep",
                    str(SECONDS)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def counted():
    """CPU seconds of the ticks, and how many there were, by their own count."""
    with sqlite3.connect(f"file:{TRACE}?mode=ro", uri=True) as database:
        text, = database.execute(
            "SELECT value FROM rocpd_metadata WHERE tag = 'sonde::metrics'").fetchone()
    ticks, cost, unit = re.search(r"(\d+) ticks, .*, ([\d.]+) (\w+) of CPU time", text).groups()
    return float(cost) * UNITS[unit], int(ticks)


def main():
    least = {}
    for _ in range(ROUNDS):  # in turn, so that all have the same neighbours
        for hz in ("off", "10", "100"):
            options = ("--metrics", "off") if hz == "off" else ("--metrics-hz", hz)
            least[hz] = min(record(*options), least.get(hz, 1e9))
            if hz != "off":
                cost, ticks = counted()
                key = "ticks at " + hz
                least[key] = min(cost / ticks, least.get(key, 1e9))
    for hz, goal in (("10", 0.5), ("100", 5)):
        print(json.dumps({
            "name": f"metrics at {hz} Hz", "value": round(100 * (least[hz] - least["off"]) / SECONDS, 3),
            "unit": "% of a core", "goal": goal,
            "note": f"one process; {1e6 * least['ticks at ' + hz]:.0f} us a tick by its own count"}))


main()
