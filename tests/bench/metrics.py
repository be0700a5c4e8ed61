#!/usr/bin/python3
# runs: 1
"""What reading metrics costs the recorder: CPU time of the recorder itself with and without them,
while the traced program sleeps, and what the ticks count of themselves."""

import re
import sqlite3

from measuring import FOLDER, SONDE, row, timed

TRACE = FOLDER / "t.rpd"
SECONDS, ROUNDS = 5, 3
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}


def record(*options):
    """CPU seconds of the recorder (the program's, some ms, included)."""
    TRACE.unlink(missing_ok=True)
    return timed(SONDE, "record", "-q", *options, "-o", TRACE, "--", "sleep", SECONDS).cpu_s


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
        row(f"metrics at {hz} Hz", round(100 * (least[hz] - least["off"]) / SECONDS, 3), "% of a core", goal=goal,
            note=f"one process; {1e6 * least['ticks at ' + hz]:.0f} us a tick by its own count")


main()
