#!/usr/bin/python3
"""How long after a fault `sonde debug` has its report in a file, on the software GPU: from the moment at which the
runtime told of the fault, for a memory fault, a trap and an assert()."""
# runs: 1
import json
import os
import pathlib
import subprocess
import sys
import time

BUILD, SONDE = os.environ["SONDE_BUILD"], os.environ["SONDE"]
PROGRAM = f"{BUILD}/tests/programs/hip_faults"
ROUNDS = 5
if not os.path.exists(PROGRAM) or not os.path.exists(f"{BUILD}/bin/softgpu"):
    print("no software GPU in this build", file=sys.stderr)
    sys.exit(0)

for number in range(ROUNDS):
    for kind in ("page", "trap", "assert"):
        report = pathlib.Path(f"report.{kind}.{number}")
        subprocess.run([SONDE, "debug", "--softgpu", "--json", "-o", report, "--", PROGRAM, kind], capture_output=True)
        written_ns = report.stat().st_mtime_ns - time.time_ns() + time.monotonic_ns()
        seconds = (written_ns - json.loads(report.read_text())["time_ns"]) / 1e9
        print(json.dumps({"name": "report of a fault, after", "value": round(seconds, 3), "unit": "s wall", "goal": 2}))
