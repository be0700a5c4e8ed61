#!/usr/bin/python3
"""Compares the software GPU's log with what programs counted themselves.

usage: check_log.py LOG OUTPUT...     OUTPUT: what a run of hip/ops.hip printed

All programs together must have launched each kernel as often as the log has it, and no other kernel
but the runtimes' own may be there; copies of each size that a program counts must be there as often.
And whatever was run: ops of a queue must not overlap, and each op must be the sum of its packets.
"""

import collections
import json
import sys

RUNTIME_KERNELS = ("", "__amd_rocclr_")  # without a name (ROCr), or with this prefix (ROCclr)


def check(log_path, outputs):
    with open(log_path, encoding="utf-8") as lines:
        log = [json.loads(line) for line in lines]
    counts = [counted(path) for path in outputs]
    ops = [line for line in log if line["line"] == "op"]
    problems = kernels(ops, counts) + copies(ops, counts) + order(ops) + sums(log)
    print("\n".join(problems) or f"{len(ops)} ops agree")
    return 1 if problems else 0


def counted(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.startswith("{")][-1]


def of_runtime(name):
    return name == "" or name.startswith(RUNTIME_KERNELS[1])


def kernels(ops, counts):
    wanted = collections.Counter()
    for program in counts:
        wanted.update(program["kernels"])
    found = collections.Counter(op["name"] for op in ops
                                if op["kind"] == "kernel" and not of_runtime(op["name"]))
    return [f"kernel {name}: launched {wanted[name]}, in the log {found[name]}"
            for name in sorted(set(wanted) | set(found)) if wanted[name] != found[name]]


def copies(ops, counts):
    wanted = collections.Counter()
    for program in counts:
        wanted.update({int(size): times for size, times in program["copies"].items()})
    found = collections.Counter(op["bytes"] for op in ops if is_copy(op))
    return [f"copy of {size} bytes: asked for {wanted[size]}, in the log {found[size]}"
            for size in sorted(wanted) if wanted[size] != found[size]]


def is_copy(op):
    return op.get("blit") == "copy" or op["kind"] in ("copy", "copy_rect")


def order(ops):
    problems = []
    ended = {}
    for op in ops:
        queue = (op["pid"], op["gpu"], op["queue"], op["engine"])
        if op["end_ns"] < op["start_ns"] or op["end_ticks"] < op["start_ticks"]:
            problems.append(f"an op ends before it begins: {op}")
        if op["start_ns"] < ended.get(queue, 0):
            problems.append(f"an op begins before the one before it has ended: {op}")
        ended[queue] = op["end_ns"]
    return problems


def sums(log):
    totals = {}
    for kind in ("packet", "op"):
        total = collections.Counter()
        for line in log:
            if line["line"] == kind and "bytes" in line:
                total[line["pid"], line["gpu"], line["queue"]] += line["bytes"]
        totals[kind] = total
    return [f"queue {queue}: packets moved {totals['packet'][queue]} bytes, ops {totals['op'][queue]}"
            for queue in totals["packet"] if totals["packet"][queue] != totals["op"][queue]]


if __name__ == "__main__":
    sys.exit(check(sys.argv[1], sys.argv[2:]))
