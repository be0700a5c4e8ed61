#!/usr/bin/python3
"""Compares what `sonde breakdown --per step` says of real PyTorch traces with figures worked out here, from
the correlation numbers of the JSON: which operations the calls of each step launched, from the first start to
the last end of these, and how long none of them ran: nothing at all, or work of other steps.

    steps_test.py --sonde PATH

Traces come from SONDE_SHARED (default ../shared beside the project); exit 77 without."""
import argparse
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
from decimal import Decimal

HERE = pathlib.Path(__file__).resolve().parent
SHARED = pathlib.Path(os.environ.get("SONDE_SHARED", HERE.parent.parent.parent / "shared"))
TRACES = {"nccl_data": "ProfilerStep#", "vllm_decode_graph": "execute_", "mi300_qwen_0.5b": "ProfilerStep#"}
SKIPPED = 77


def times_ns(event):
    """What the importer makes of microseconds: each edge rounded to a nanosecond."""
    start = Decimal(str(event["ts"])) * 1000
    return round(start), round(start + Decimal(str(event["dur"])) * 1000)


def launched_by_steps(path, prefix):
    with gzip.open(path) as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    whole = [event for event in events if event.get("ph") == "X"]
    calls = {event["args"]["correlation"]: event for event in whole
             if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event["args"]}
    steps = {}
    for step in whole:
        if step.get("cat") != "user_annotation" or not re.match(prefix, step["name"]):
            continue
        begin, end = times_ns(step)
        ops = [times_ns(op) for op in whole if op.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")
               and op["args"].get("correlation") in calls
               and begin <= times_ns(calls[op["args"]["correlation"]])[0] < end]
        if ops:
            steps[step["name"]] = ops
    return steps


def idle_ns(ops):
    idle, until = 0, min(ops)[0]
    for begin, end in sorted(ops):
        idle += max(0, begin - until)
        until = max(until, end)
    return idle


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    sonde = parser.parse_args().sonde
    paths = {name: SHARED / "data" / "kineto" / f"{name}.json.gz" for name in TRACES}
    if not all(path.exists() for path in paths.values()):
        print("no traces in", SHARED)
        return SKIPPED
    count, problems = 0, []
    for name, prefix in TRACES.items():
        made = subprocess.run([sonde, "breakdown", str(paths[name]), "--per", "step", "--format", "json"], capture_output=True, text=True, check=True)
        is_ = {row["step"]: (row["total_ns"], row["idle_ns"] + row["other_steps_ns"])
               for row in json.loads(made.stdout)["breakdown"]}
        should = {step: (max(end for _, end in ops) - min(ops)[0], idle_ns(ops))
                  for step, ops in launched_by_steps(paths[name], prefix).items()}
        count += len(should)
        if is_ != should or not should:
            problems.append(f"{name}: total and idle are {is_}, not {should}")
    print("\n".join(problems) or f"{count} steps have what they launched")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
