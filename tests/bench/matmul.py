#!/usr/bin/python3
"""A product of matrices of 256 x 256 through HIP on the software GPU: from machine code on one core and on
two, and from host code."""
import json
import os
import re
import resource
import statistics
import subprocess
import sys

BUILD = os.environ["SONDE_BUILD"]
SOFTGPU = f"{BUILD}/bin/softgpu"
PROGRAMS = {"isa": f"{BUILD}/examples/matmul/hip/matmul_hip", "host": f"{BUILD}/softgpu/tests/kernels/hip/matmul_host"}
ROUNDS = 5
if not all(map(os.path.exists, (SOFTGPU, *PROGRAMS.values()))):
    print("no software GPU in this build", file=sys.stderr)
    sys.exit(0)


def run_once(engine, threads, side):
    """CPU time of the process and the time of its product with copies, in milliseconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([SOFTGPU, "--engine", engine, "--threads", str(threads), "--", PROGRAMS[engine],
                           "--m", side, "--k", side, "--n", side], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return 1000 * cpu, 1000 * float(re.search(r"in ([\d.]+) s", done.stdout)[1])


def taken_ms(engine, threads):
    """What the product takes more than one of a single number, for which HIP starts just the same."""
    rounds = []
    for _ in range(ROUNDS):
        small, large = (run_once(engine, threads, side) for side in ("1", "256"))
        rounds.append([more - less for more, less in zip(large, small)])
    return [statistics.median(values) for values in zip(*rounds)]


def say(name, value, unit, **more):
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)


TITLE = "product of 256 x 256 through HIP"
host = taken_ms("host", 1)
one, two = taken_ms("isa", 1), taken_ms("isa", 2)
say(f"{TITLE}, host code, 1 core", host[0], "ms CPU")
say(f"{TITLE}, machine code, 1 core", one[0], "ms CPU", versus=f"{TITLE}, host code, 1 core")
say(f"{TITLE}, machine code, 2 cores to 1", one[1] / two[1], "times", better="higher", goal=1.6)
