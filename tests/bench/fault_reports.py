#!/usr/bin/python3
"""How long after a fault `sonde debug` has its report in a file, on the software GPU: from the moment at which the
runtime told of the fault, for a memory fault, a trap and an assert()."""
# runs: 1
import json
import pathlib
import subprocess
import time

from measuring import BUILD, SONDE, need_softgpu, row

PROGRAM = f"{BUILD}/tests/programs/hip_faults"
ROUNDS = 5
need_softgpu(PROGRAM)

for number in range(ROUNDS):
    for kind in ("page", "trap", "assert"):
        report = pathlib.Path(f"report.{kind}.{number}")
        subprocess.run([SONDE, "debug", "--softgpu", "--json", "-o", report, "--", PROGRAM, kind], capture_output=True)
        written_ns = report.stat().st_mtime_ns - time.time_ns() + time.monotonic_ns()
        seconds = (written_ns - json.loads(report.read_text())["time_ns"]) / 1e9
        row("report of a fault, after", round(seconds, 3), "s wall", goal=2)
