#!/usr/bin/python3
"""HIP programs on the software GPU, untraced and traced: a launch, and a call that does next to
nothing; and what the software GPU costs while it rests."""
# runs: 1
import json
import os
import re
import statistics
import subprocess
import sys

BUILD, SONDE = os.environ["SONDE_BUILD"], os.environ["SONDE"]
SOFTGPU = f"{BUILD}/bin/softgpu"
STORM = f"{BUILD}/tests/programs/hip_storm"
BUSY = f"{BUILD}/tests/softgpu/busy"
ROUNDS = 5
if not all(map(os.path.exists, (SOFTGPU, STORM, BUSY))):
    print("no software GPU in this build", file=sys.stderr)
    sys.exit(0)


def each_ns(traced, mode, count):
    """CPU time of the program's thread for one launch or call."""
    command = [SOFTGPU, "--", STORM, mode, str(count)]
    if traced:
        command = [SONDE, "record", "-q", "-o", "bench.rpd", "--", *command]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    if traced:
        os.unlink("bench.rpd")
    return json.loads(done.stdout)["each_ns"]


def compared(mode, count):
    """Untraced and traced, in turns."""
    found = {False: [], True: []}
    for _ in range(ROUNDS):
        for traced in found:
            found[traced].append(each_ns(traced, mode, count))
    return statistics.median(found[False]), statistics.median(found[True])


def say(name, value, unit, **more):
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}))


for title, mode, count, most_added, most_ratio in (
        ("HIP launch", "rate", 50_000, 1000, 1.5), ("hipGetDevice", "cheap", 2_000_000, 80, 3.8)):
    plain, traced = compared(mode, count)
    say(f"{title}, untraced", plain, "ns CPU")
    say(f"{title}, traced", traced, "ns CPU", versus=f"{title}, untraced")
    say(f"{title}, added", traced - plain, "ns CPU", goal=most_added)
    say(f"{title}, traced to untraced", traced / plain, "times", goal=most_ratio)

done = subprocess.run([SOFTGPU, "--", BUSY, "5", "idle"], capture_output=True, text=True, check=True)
rest = json.loads(re.search(r"\{.*cpu_percent.*\}", done.stdout)[0])
say("software GPU at rest", rest["cpu_percent"], "% of a core", goal=2)
say("software GPU: first launch and sync after rest", rest["wake_us"], "us wall", goal=200)
