#!/usr/bin/python3
"""HIP programs on the software GPU: untraced, traced by Sonde, and traced by the least that an HSA
tool can be (tests/fakes/minimal_tool.cpp), in turns. What a launch costs, a launch with a sync, a
loop as programs have it, and a call that does next to nothing; and what the software GPU costs while
it rests."""
# runs: 1
import json
import os
import re
import statistics
import subprocess
import time

from measuring import BUILD, SOFTGPU, SONDE, need_softgpu, row

STORM = f"{BUILD}/tests/programs/hip_storm"
TOOL = f"{BUILD}/tests/fakes/libminimal_tool.so"
BUSY = f"{BUILD}/tests/softgpu/busy"
ROUNDS = 5
WHICH = {"best_ns": ", best burst", "median_ns": ", median round"}
need_softgpu(STORM, BUSY, TOOL)


def run(how, mode, count):
    """What one launch or call took: `each_ns` of the thread's CPU, `best_ns` and `median_ns`
    likewise in the best and in the median burst, `wall_ns` of the clock."""
    command = [SOFTGPU, "--", STORM, mode, str(count)]
    environment = dict(os.environ)
    if how == "traced":
        command = [SONDE, "record", "-q", "-o", "bench.rpd", "--", *command]
    elif how == "minimal tool":
        environment["HSA_TOOLS_LIB"] = TOOL
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    if how == "traced":
        os.unlink("bench.rpd")
    return json.loads(done.stdout)


def report(title, mode, count, keys, added=None, ratio=None, tool=True):
    """`added` and `ratio`: the goals for what tracing adds, in ns, and for traced to untraced."""
    ways = ("untraced", "traced") + (("minimal tool",) if tool else ())
    found = {how: [] for how in ways}
    for _ in range(ROUNDS):
        for how, values in found.items():
            values.append(run(how, mode, count))
    for key in keys:
        unit = "ns wall" if key == "wall_ns" else "ns CPU"
        name = title + WHICH.get(key, "")
        medians = {how: statistics.median(value[key] for value in values)
                   for how, values in found.items()}
        plain = medians["untraced"]
        row(f"{name}, untraced", plain, unit)
        for how in ways[1:]:
            row(f"{name}, {how}", medians[how], unit, versus=f"{name}, untraced")
        for how in ways[1:]:
            row(f"{name}, {how} to untraced", medians[how] / plain, "times", goal=ratio if how == "traced" else None)
        row(f"{name}, added", medians["traced"] - plain, unit, goal=added)


def page_us(megabytes=64):
    """What a fresh page of a file costs a loop that does nothing else: the floor of recording."""
    zeros, file = bytes(1 << 18), "pages"
    before = time.thread_time()
    with open(file, "wb", buffering=0) as out:
        for _ in range(megabytes * 4):
            out.write(zeros)
    taken = time.thread_time() - before
    os.unlink(file)
    return taken * 1e6 / (megabytes * 256)


report("HIP launch", "bursts", 50_000, ("each_ns", "best_ns"), ratio=1.5)
report("HIP launch and sync", "sync", 1_000, ("wall_ns",))
report("HIP launch in a realistic loop", "loop", 10_000, ("median_ns", "each_ns"), added=1000)
report("hipGetDevice", "cheap", 2_000_000, ("each_ns", "best_ns"), added=80, ratio=3.8, tool=False)
row("a fresh page of a file, bare loop", page_us(), "us CPU")


def report_rest():
    """What the software GPU costs at rest, and when it begins with the first launch after one, by
    its own log; beside that what two threads need to wake one another after such a rest."""
    done = subprocess.run([SOFTGPU, "--log", "ops.log", "--", BUSY, "5", "idle"],
                          capture_output=True, text=True, check=True)
    rest = json.loads(re.search(r"\{.*cpu_percent.*\}", done.stdout)[0])
    with open("ops.log", encoding="utf-8") as log:
        kernels = [op for op in map(json.loads, log) if op["line"] == "op" and op["kind"] == "kernel"]
    starts = [op["start_ns"] for op in kernels]
    late_us = [(min(start for start in starts if start >= launched) - launched) / 1000
               for launched in rest["launched_ns"]]
    row("software GPU at rest", rest["cpu_percent"], "% of a core", goal=2)
    row("software GPU: start of the first launch after rest", statistics.median(late_us), "us wall",
        goal=200)
    row("software GPU: launch and sync, best", rest["launch_us"], "us wall")
    row("software GPU: first launch and sync after rest, best", rest["rested_launch_us"], "us wall")
    row("two threads that wake one another after rest, best", rest["echo_us"], "us wall")


report_rest()
