#!/usr/bin/python3
# runs: 1
"""What sampling takes from a program: CPU time of the same work with and without it, and what the
sampler itself counts, for native code and for Python with some twenty frames."""

import json
import os
import sqlite3
import subprocess
from pathlib import Path

FOLDER = Path(os.environ["SONDE_BENCH_DIR"])
WORK = FOLDER / "work.py"
ROUNDS = 4

WORK.write_text("""
import time
def deep(n):
    if n:
        return deep(n - 1)
    total = 0
    for i in range(40_000_000):
        total += i
    return total
deep(15)
print(time.process_time())
""")


def seconds(hz):
    """CPU seconds of the work."""
    trace = FOLDER / "t.rpd"
    trace.unlink(missing_ok=True)
    run = subprocess.run([os.environ["SONDE"], "record", "-q", "--sample", hz, "-o", trace, "--",
                          "/usr/bin/python3", WORK], capture_output=True, text=True, check=True)
    return float(run.stdout), trace


def counted(trace):
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        return database.execute(
            "SELECT samples, cost_ns * 1.0 / samples, cost_percentage, hz FROM sonde_sampling"
        ).fetchone()


def row(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}))


def main():
    best, traces = {}, {}
    for _ in range(ROUNDS):  # in turn, so that all have the same neighbours
        for hz in ("off", "100", "1000"):
            taken, trace = seconds(hz)
            best[hz] = min(best.get(hz, taken), taken)
            if hz != "off":
                traces[hz] = counted(trace)
    for hz, goal in (("100", 0.5), ("1000", 5)):
        samples, each, percentage, achieved = traces[hz]
        row(f"sampler at {hz} Hz, by its own count", percentage, "% of a core", goal=goal,
            note=f"{samples} samples, {achieved:.0f} Hz achieved")
        row(f"sampler at {hz} Hz, by the program's CPU time",
            100 * (best[hz] - best["off"]) / best["off"], "%", goal=goal,
            note=f"least of {ROUNDS} runs in turn")
        row(f"sample of 16 Python frames and {hz} Hz", each / 1000, "us", goal=10)


main()
