#!/usr/bin/python3
"""A product of matrices of 256 x 256 through HIP on the software GPU: from machine code on one core and on
two, and from host code."""
import json
import os
import re
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


def taken_ms(engine, threads):
    times = []
    for _ in range(ROUNDS):
        done = subprocess.run([SOFTGPU, "--engine", engine, "--threads", str(threads), "--", PROGRAMS[engine],
                               "--m", "256", "--k", "256", "--n", "256"], check=True, capture_output=True, text=True)
        times.append(1000 * float(re.search(r"in ([\d.]+) s", done.stdout)[1]))
    return statistics.median(times)


def say(name, value, unit, **more):
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)


TITLE = "product of 256 x 256 through HIP"
host = taken_ms("host", 1)
one, two = taken_ms("isa", 1), taken_ms("isa", 2)
say(f"{TITLE}, host code, 1 core", host, "ms")
say(f"{TITLE}, machine code, 1 core", one, "ms", versus=f"{TITLE}, host code, 1 core")
say(f"{TITLE}, machine code, 2 cores to 1", one / two, "times", better="higher", goal=1.6)
