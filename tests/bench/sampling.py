#!/usr/bin/python3
# runs: 1
"""What sampling takes from a program: CPU time of the same work with and without it, and what the
sampler itself counts, for Python with sixteen frames. The first samples of a process open its events
and files, which says nothing about a longer one, so work of two lengths tells the two costs apart."""

import sqlite3
import subprocess

from measuring import FOLDER, SONDE, row

WORK = FOLDER / "work.py"
ROUNDS = 8
SHORT, LONG = 5_000_000, 40_000_000

WORK.write_text("""
import sys, time
def deep(n):
    if n:
        return deep(n - 1)
    total = 0
    for i in range(int(sys.argv[1])):
        total += i
    return total
deep(15)
print(time.process_time())
""")


def seconds(hz, length=LONG):
    """CPU seconds of the work, and its trace."""
    trace = FOLDER / "t.rpd"
    trace.unlink(missing_ok=True)
    run = subprocess.run([SONDE, "record", "-q", "--sample", hz, "-o", trace, "--",
                          "/usr/bin/python3", WORK, str(length)],
                         capture_output=True, text=True, check=True)
    return float(run.stdout), trace


def counted(trace):
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        return database.execute(
            "SELECT samples, cost_ns * 1.0 / samples, cost_percentage, hz FROM sonde_sampling"
        ).fetchone()


def costs(hz, long_ones):
    """In microseconds: what each sample takes, what the first ones take on top, and what one of the long
    work takes with its share of those, which varies least: the first two are differences."""
    short_ones = [counted(seconds(hz, SHORT)[1]) for _ in range(ROUNDS)]
    count = [sum(samples for samples, *_ in ones) for ones in (short_ones, long_ones)]
    taken = [sum(samples * each for samples, each, *_ in ones) for ones in (short_ones, long_ones)]
    each = (taken[1] - taken[0]) / (count[1] - count[0])
    return each / 1000, (taken[0] - count[0] * each) / ROUNDS / 1000, taken[1] / count[1] / 1000


def main():
    best, counts = {}, {"100": [], "1000": []}
    for _ in range(ROUNDS):  # in turn, so that all have the same neighbours
        for hz in ("off", "100", "1000"):
            taken, trace = seconds(hz)
            best[hz] = min(best.get(hz, taken), taken)
            if hz != "off":
                counts[hz].append(counted(trace))
    for hz, goal in (("100", 0.5), ("1000", 5)):
        samples, _, percentage, achieved = counts[hz][-1]
        row(f"sampler at {hz} Hz, by its own count", percentage, "% of a core", goal=goal,
            note=f"{samples} samples, {achieved:.0f} Hz achieved")
        row(f"sampler at {hz} Hz, by the program's CPU time",
            100 * (best[hz] - best["off"]) / best["off"], "%", goal=goal,
            note=f"least of {ROUNDS} runs in turn")
        each, once, of_all = costs(hz, counts[hz])
        row(f"sample of 16 Python frames and {hz} Hz", each, "us", goal=10)
        row(f"sample of 16 Python frames and {hz} Hz, the first ones included", of_all, "us")
        row(f"first samples of a process at {hz} Hz, once", once, "us")


main()
