#!/usr/bin/python3
# runs: 1
"""What sampling takes from a program: CPU time of the same work alone, recorded and sampled, and what the
sampler itself counts, for Python with sixteen frames. The first samples of a process open its events and
files, which says nothing about a longer one: they have a row of their own. The work makes no objects: where the
interpreter finds room for new integers, which an empty sitecustomize.py changes, weighs 10 % in a loop over them."""

import sqlite3
import statistics
import subprocess

from measuring import FOLDER, SONDE, row

WORK = FOLDER / "work.py"
ROUNDS = 8
FIRST = 40  # samples
TRACE = FOLDER / "t.rpd"

WORK.write_text("""
import itertools, time
def deep(n):
    if n:
        return deep(n - 1)
    total = 0
    for _ in itertools.repeat(None, 60_000_000):
        total = total + 1 & 127
    return total
deep(15)
print(time.process_time())
""")


def seconds(hz):
    """CPU seconds of the work."""
    TRACE.unlink(missing_ok=True)
    record = [] if hz == "alone" else [SONDE, "record", "-q", "--sample", hz, "-o", TRACE, "--"]
    run = subprocess.run([*record, "/usr/bin/python3", WORK], capture_output=True, text=True, check=True)
    return float(run.stdout)


class Counted:
    """What the sampler counted in a run, in microseconds."""

    def __init__(self):
        with sqlite3.connect(f"file:{TRACE}?mode=ro", uri=True) as database:
            self.of_a_core, self.hz = database.execute("SELECT cost_percentage, hz FROM sonde_sampling").fetchone()
            costs = [ns / 1000 for ns, in database.execute("SELECT cost_ns FROM sonde_sample ORDER BY id")]
        self.samples = len(costs)
        self.of_all = statistics.mean(costs)
        self.each = statistics.mean(costs[FIRST:])
        self.once = sum(costs[:FIRST]) - FIRST * self.each


def main():
    taken, counts = {}, {}
    for _ in range(ROUNDS):  # in turn, so that all have the same neighbours
        for hz in ("alone", "off", "100", "1000"):
            taken.setdefault(hz, []).append(seconds(hz))
            if hz in ("100", "1000"):
                counts.setdefault(hz, []).append(Counted())
    least = {hz: min(times) for hz, times in taken.items()}
    for hz, goal in (("100", 0.5), ("1000", 5)):
        median = {what: statistics.median(getattr(one, what) for one in counts[hz])
                  for what in ("of_a_core", "hz", "samples", "each", "of_all", "once")}
        row(f"sampler at {hz} Hz, by its own count", median["of_a_core"], "% of a core", goal=goal,
            note=f"{median['samples']:.0f} samples, {median['hz']:.0f} Hz achieved")
        row(f"sampler at {hz} Hz, by the program's CPU time", 100 * (least[hz] / least["off"] - 1), "%",
            goal=goal, note=f"least of {ROUNDS} runs in turn")
        row(f"recorded and sampled at {hz} Hz, by the program's CPU time", 100 * (least[hz] / least["alone"] - 1),
            "%", note="more than the program alone, its start included")
        row(f"sample of 16 Python frames and {hz} Hz", median["each"], "us", goal=10)
        row(f"sample of 16 Python frames and {hz} Hz, the first ones included", median["of_all"], "us")
        row(f"first samples of a process at {hz} Hz, once", median["once"], "us")


main()
