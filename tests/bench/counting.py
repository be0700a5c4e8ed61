#!/usr/bin/python3
"""What a kernel costs that is counted, and one that is run again for each pass: a HIP program on the
software GPU that launches and waits, untraced, recorded, counted in one pass, and in several by replay."""
# runs: 1
import json
import os
import statistics
import subprocess

from measuring import BUILD, SOFTGPU, SONDE, need_softgpu, row

STORM = f"{BUILD}/tests/programs/hip_storm"
PROGRAM = [SOFTGPU, "--", STORM, "sync", "500"]
ROUNDS = 3
need_softgpu(STORM)

COUNT = [SONDE, "profile", "--gpu", "gfx90a", "--set", "sol", "-o", "bench.rpd"]
WAYS = {
    "untraced": [],
    "recorded": [SONDE, "record", "-q", "-o", "bench.rpd", "--"],
    "counted in one pass": [*COUNT, "--single-pass", "--"],
    "counted in 4 passes by replay": [*COUNT, "--replay", "--"],
}


def run(how):
    """Microseconds of a launch and its wait."""
    done = subprocess.run([*WAYS[how], *PROGRAM], check=True, capture_output=True, text=True)
    if how != "untraced":
        os.unlink("bench.rpd")
    return json.loads(done.stdout)["wall_ns"] / 1000


found = {how: [] for how in WAYS}
for _ in range(ROUNDS):
    for way, values in found.items():
        values.append(run(way))
for way, values in found.items():
    row(f"launch and sync, {way}", statistics.median(values), "us wall",
        versus=None if way == "untraced" else "launch and sync, untraced")
