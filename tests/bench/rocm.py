#!/usr/bin/python3
"""HIP programs on the software GPU, untraced and traced: a launch, and a call that does next to
nothing; and what the software GPU costs while it rests. Whole processes are timed, a long run minus
a short one."""
# runs: 1
import json
import os
import re
import statistics
import subprocess
import sys
import time

BUILD, SONDE = os.environ["SONDE_BUILD"], os.environ["SONDE"]
SOFTGPU = f"{BUILD}/bin/softgpu"
STORM = f"{BUILD}/tests/programs/hip_storm"
BUSY = f"{BUILD}/tests/softgpu/busy"
ROUNDS = 5
if not all(map(os.path.exists, (SOFTGPU, STORM, BUSY))):
    print("no software GPU in this build", file=sys.stderr)
    sys.exit(0)


def seconds(traced, mode, count):
    command = [SOFTGPU, "--", STORM, mode, str(count)]
    if traced:
        trace = "bench.rpd"
        command = [SONDE, "record", "-q", "-o", trace, "--", *command]
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    taken = time.monotonic() - started
    if traced:
        os.unlink(trace)
    return taken


def each_ns(mode, short, long):
    """Nanoseconds of one more: untraced and traced, in turns."""
    found = {False: [], True: []}
    for _ in range(ROUNDS):
        for traced in found:
            more = seconds(traced, mode, long) - seconds(traced, mode, short)
            found[traced].append(more / (long - short) * 1e9)
    return statistics.median(found[False]), statistics.median(found[True])


def say(name, value, unit, **more):
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}))


for title, mode, short, long, most_added, most_ratio in (
        ("HIP launch", "rate", 2_000, 52_000, 1000, 1.5),
        ("hipGetDevice", "cheap", 10_000, 5_010_000, 80, 3.8)):
    plain, traced = each_ns(mode, short, long)
    say(f"{title}, untraced", plain, "ns wall")
    say(f"{title}, traced", traced, "ns wall", versus=f"{title}, untraced")
    say(f"{title}, added", traced - plain, "ns wall", goal=most_added)
    say(f"{title}, traced to untraced", traced / plain, "times", goal=most_ratio)

done = subprocess.run([SOFTGPU, "--", BUSY, "5", "idle"], capture_output=True, text=True, check=True)
rest = json.loads(re.search(r"\{.*cpu_percent.*\}", done.stdout)[0])
say("software GPU at rest", rest["cpu_percent"], "% of a core", goal=2)
say("software GPU: first launch and sync after rest", rest["wake_us"], "us wall", goal=200)
