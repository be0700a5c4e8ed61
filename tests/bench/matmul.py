#!/usr/bin/python3
"""A product of matrices of 256 x 256 through HIP on the software GPU: from machine code and from host code, and
from machine code on one core and on two. HIP's thread that waits takes a core of its own, unless the program
tells it to block: both are measured."""
import json
import statistics
import subprocess

from measuring import BUILD, SOFTGPU, need_softgpu, row, timed

PROGRAMS = {"isa": f"{BUILD}/examples/matmul/hip/matmul_hip", "host": f"{BUILD}/softgpu/tests/kernels/hip/matmul_host"}
PRODUCT = f"{BUILD}/tests/softgpu/product"
ROUNDS = 5
need_softgpu(PRODUCT, *PROGRAMS.values())


def cpu_ms(engine, side):
    return 1000 * timed(SOFTGPU, "--engine", engine, "--threads", "1", "--", PROGRAMS[engine],
                        "--m", side, "--k", side, "--n", side).cpu_s


def taken_ms(engine):
    """What the product takes more than one of a single number, for which HIP starts just the same."""
    return statistics.median(cpu_ms(engine, "256") - cpu_ms(engine, "1") for _ in range(ROUNDS))


def two_cores_to_one(how):
    """How much sooner a product is there, in a program that has been running for a while."""
    rounds = []
    for _ in range(ROUNDS):
        one, two = (json.loads(subprocess.run([SOFTGPU, "--engine", "isa", "--threads", threads, "--", PRODUCT, "8", how],
                                              check=True, capture_output=True, text=True).stdout)["ms_each"]
                    for threads in ("1", "2"))
        rounds.append(one / two)
    return statistics.median(rounds)


TITLE = "product of 256 x 256 through HIP"
row(f"{TITLE}, host code, 1 core", taken_ms("host"), "ms CPU")
row(f"{TITLE}, machine code, 1 core", taken_ms("isa"), "ms CPU", versus=f"{TITLE}, host code, 1 core")
row(f"{TITLE}, machine code, 2 cores to 1, HIP told to block", two_cores_to_one("block"), "times", better="higher", goal=1.6)
row(f"{TITLE}, machine code, 2 cores to 1, HIP's thread spins", two_cores_to_one("spin"), "times", better="higher")
