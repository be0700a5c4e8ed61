#!/usr/bin/python3
# runs: 1
"""What a short process costs more when it is recorded: a shell starts /bin/true so many times more,
so that the start and the end of the recording itself do not count."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

TRACE = Path(os.environ["SONDE_BENCH_DIR"]) / "t.rpd"
TIMES = TRACE.with_name("times")
FEW, MANY, ROUNDS = 50, 350, 5
SCRIPT = "i=0; while [ $i -lt $0 ]; do /bin/true; i=$((i+1)); done; times > $1"


def run(count, *recorder):
    """Wall time of the run, and the CPU time of the processes that the shell started, in ms."""
    TRACE.unlink(missing_ok=True)
    begin = time.monotonic()
    subprocess.run([*recorder, "sh", "-c", SCRIPT, str(count), TIMES], check=True)
    wall = time.monotonic() - begin
    children = re.findall(r"(\d+)m([\d.]+)s", TIMES.read_text().splitlines()[1])
    return 1000 * wall, 1000 * sum(60 * float(m) + float(s) for m, s in children)


def main():
    ways = {"alone": (), "recorded": (os.environ["SONDE"], "record", "-q", "-o", TRACE, "--")}
    least = {}
    for _ in range(ROUNDS):  # in turn, so that all have the same neighbours
        for way, recorder in ways.items():
            few, many = run(FEW, *recorder), run(MANY, *recorder)
            for what, least_of in zip(("wall", "cpu"), zip(few, many)):
                for count, value in zip((FEW, MANY), least_of):
                    key = way, what, count
                    least[key] = min(value, least.get(key, 1e9))

    def each(way, what):
        return (least[way, what, MANY] - least[way, what, FEW]) / (MANY - FEW)

    for what, name in (("wall", "wall time"), ("cpu", "CPU time of its own")):
        more = each("recorded", what) - each("alone", what)
        print(json.dumps({
            "name": f"short process, {name} more", "value": round(more, 3), "unit": "ms",
            "goal": 0.5, "better": "lower",
            "note": f"{each('alone', what):.2f} ms alone, {each('recorded', what):.2f} ms recorded, "
                    f"{each('recorded', what) / max(each('alone', what), 1e-9):.2f} times"}))


main()
