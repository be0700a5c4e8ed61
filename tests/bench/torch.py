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

SONDE = os.environ["SONDE"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ["/usr/bin/python3", str(ROOT / "tests/programs/torch_cost.py"),
        str(ROOT / "examples/cifar")]
ROUNDS = 3


def measure(way):
    """Of operators and steps, the medians of what recording added to one and of one without it."""
    pairs = {"operator_ns": [], "step_ms": []}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "SONDE_TORCH": way,
                   "PYTHONPATH": str(ROOT / "python")}
    for _ in range(ROUNDS):
        done = subprocess.run([SONDE, "record", "-q", "-o", "bench.rpd", "--", *WORK], check=True,
                              capture_output=True, text=True, env=environment)
        os.unlink("bench.rpd")
        for name, times in json.loads(done.stdout).items():
            pairs[name] += zip(times["on"], times["off"])
    return {name: (statistics.median(on - off for on, off in found),
                   statistics.median(off for _, off in found)) for name, found in pairs.items()}


def say(name, value, unit, **more):
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)


if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
    print("no PyTorch here", file=sys.stderr)
    sys.exit(0)
for way, title in (("auto", "natively"), ("modules", "modules only"), ("python", "through Python")):
    found = measure(way)
    added, _ = found["operator_ns"]
    goal = {"goal": 500} if way == "auto" else {}
    say(f"PyTorch operator, {title}: added", added, "ns CPU", **goal)
    added, step = found["step_ms"]
    goal = {"goal": 3 if way == "auto" else 1} if way != "python" else {}
    say(f"PyTorch training step, {title}: added", added / step * 100, "% CPU", **goal)
    say(f"PyTorch training step, {title}: unrecorded", step, "ms CPU")
