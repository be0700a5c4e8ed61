#!/usr/bin/python3
"""The cost of a marker pair (push and pop) in ns of thread CPU time: Sonde with either clock, and
LTTng-UST on the same loop. Each figure is the median of several runs of 1,000,000 pairs a thread."""
import json
import os
import shutil
import statistics
import subprocess
import time

from measuring import BUILD, FOLDER, SONDE, row

PAIRS = "1000000"
RUNS = 3


def pair_ns(command):
    """The figure that the loop prints; None if the command failed."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER)
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            return json.loads(line)["pair_ns"]
    return None


def report(name, values, **more):
    values = [value for value in values if value is not None]
    if values:
        row(name, statistics.median(values), "ns CPU", **more)


def measure_sonde():
    goals = {"monotonic": 70, "tsc": 40}
    for clock, goal in goals.items():
        for threads in ("1", "2", "4"):
            for text in ("constant", "changing"):
                values = []
                for _ in range(RUNS):
                    values.append(pair_ns([SONDE, "record", "-q", "--clock", clock, "-o", "b.rpd", "--",
                                           f"{BUILD}/tests/programs/bench_markers", threads, PAIRS,
                                           text]))
                    for trace in FOLDER.glob("*.rpd"):
                        trace.unlink()
                report(f"marker pair, {clock} stamps, {threads} threads, {text} text", values,
                       goal=goal, versus=f"LTTng-UST pair, {threads} threads, {text} text")
    report("marker pair, not recorded",
           [pair_ns([f"{BUILD}/tests/programs/bench_markers", "1", PAIRS, "constant"])])


class Lttng:
    """A session daemon and a tracing session of our own, ended by pid."""

    def __init__(self):
        self.environment = {**os.environ, "LTTNG_HOME": str(FOLDER), "HOME": str(FOLDER)}
        self.daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel"], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        self.lttng("create", "bench", "--output", f"{FOLDER}/lttng")
        self.lttng("enable-channel", "--userspace", "big", "--subbuf-size", "4M", "--num-subbuf", "8")
        self.lttng("enable-event", "--userspace", "--channel", "big", "sonde_bench:*")
        self.lttng("start")

    def lttng(self, *arguments):
        subprocess.run(["lttng", *arguments], env=self.environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        self.lttng("destroy", "bench")
        self.daemon.terminate()
        self.daemon.wait(timeout=20)


def measure_lttng():
    program = f"{BUILD}/tests/programs/bench_lttng"
    if not os.path.exists(program) or shutil.which("lttng-sessiond") is None:
        print("LTTng-UST is not here: its rows are left out", flush=True)
        return
    session = Lttng()
    try:
        for threads in ("1", "2", "4"):
            for text in ("constant", "changing"):
                report(f"LTTng-UST pair, {threads} threads, {text} text",
                       [pair_ns([program, threads, PAIRS, text]) for _ in range(RUNS)])
    finally:
        session.close()


# runs: 1
measure_lttng()
measure_sonde()
