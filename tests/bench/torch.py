#!/usr/bin/python3
"""What recording adds to PyTorch: to an operator that does next to nothing, and to the training
steps of examples/cifar. CPU time of one thread; recorded and unrecorded work take turns in one
process."""
# runs: 1
import json
import os
import pathlib
import statistics
import subprocess
import sys

from measuring import SONDE, row

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ["/usr/bin/python3", str(ROOT / "tests/programs/torch_cost.py"),
        str(ROOT / "examples/cifar")]
ROUNDS = 3


def measure(options):
    """Of operators and steps, the medians of what recording added to one and of one without it."""
    pairs = {"operator_ns": [], "step_ms": []}
    environment = {**os.environ, "OMP_NUM_THREADS": "1",
                   "PYTHONPATH": str(ROOT / "python")}
    for _ in range(ROUNDS):
        command = [SONDE, "record", "-q", "-o", "bench.rpd", *options, "--", *WORK]
        done = subprocess.run(command, check=True, capture_output=True, text=True,
                              env=environment)
        os.unlink("bench.rpd")
        for name, times in json.loads(done.stdout).items():
            pairs[name] += zip(times["on"], times["off"])
    return {name: (statistics.median(on - off for on, off in found),
                   statistics.median(off for _, off in found)) for name, found in pairs.items()}


if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
    print("no PyTorch here", file=sys.stderr)
    sys.exit(0)
for options, title, operator_goal, step_goal in (
        ([], "as by default", 500, 3), (["--preset", "light"], "with --preset light", None, 1),
        (["--torch", "python"], "through Python", None, None)):
    found = measure(options)
    added, _ = found["operator_ns"]
    row(f"PyTorch operator, {title}: added", added, "ns CPU", goal=operator_goal)
    added, step = found["step_ms"]
    row(f"PyTorch training step, {title}: added", added / step * 100, "% CPU", goal=step_goal)
    row(f"PyTorch training step, {title}: unrecorded", step, "ms CPU")
