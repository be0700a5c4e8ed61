#!/usr/bin/python3
"""Compares what `sonde breakdown --per step` says of real PyTorch traces with figures worked out here, from
the correlation numbers of the JSON: which operations the calls of each step launched, from the first start to
the last end of these, and how long none of them ran: nothing at all, or work of other steps.

    steps_test.py --sonde PATH

Traces come from SONDE_SHARED (default ../shared beside the project); skipped without."""
import gzip
import json
import pathlib
import re
import sys
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from golden import TRACES  # noqa: E402
from tool_case import ToolCase, main  # noqa: E402

PREFIXES = {"nccl_data": "ProfilerStep#", "vllm_decode_graph": "execute_", "mi300_qwen_0.5b": "ProfilerStep#"}


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


class Steps(ToolCase):
    def test_what_each_launched(self):
        for name, prefix in PREFIXES.items():
            path = TRACES / f"{name}.json.gz"
            if not path.exists():
                self.skipTest(f"no {path}")
            found = {row["step"]: (row["total_ns"], row["idle_ns"] + row["other_steps_ns"])
                     for row in self.ask("breakdown", path, "--per", "step")["breakdown"]}
            expected = {step: (max(end for _, end in ops) - min(ops)[0], idle_ns(ops))
                        for step, ops in launched_by_steps(path, prefix).items()}
            with self.subTest(name):
                self.assertEqual(found, expected)
                self.assertTrue(expected)


if __name__ == "__main__":
    main()
