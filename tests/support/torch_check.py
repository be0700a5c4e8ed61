#!/usr/bin/python3
"""Compares the operators in a trace with what torch.profiler saw of the same work.

    torch_check.py TRACE.rpd EVENTS.json [--through-python]
    torch_check.py EVENTS.json EVENTS.json

EVENTS is what torch_work.py --profile wrote. Of the trace, the rows of the thread and time of the
range "profiled" are taken. Compared are how often each operator came with which sizes and sequence
number, scopes of the user included; with --through-python the names and sizes of those operators
that are seen below autograd. One line per difference; exit 1 if there is any.
"""

import collections
import json
import sys

from tool_case import sql

# What Sonde's own start and end of the profiled part, and torch.profiler's, do not have in common.
LEFT_OUT = ("ProfilerStep#", "profiler::_record_function")
# Below autograd in every version, and called by no other operator of that kind.
BELOW_AUTOGRAD = {"aten::addmm", "aten::mm", "aten::relu", "aten::native_batch_norm",
                  "aten::native_batch_norm_backward", "aten::convolution_backward",
                  "aten::threshold_backward", "aten::pow"}


def flat(dims):
    """torch.profiler of version 1 knows no sizes of a list of tensors."""
    return tuple(() if any(isinstance(n, list) for n in dim) else tuple(dim) for dim in dims)


def of_trace(path):
    rows = sql(
        path,
        "select o.apiName, o.args, o.category from api o join api p on p.args = 'profiled' "
        "and p.tid = o.tid and p.pid = o.pid and o.start >= p.start and o.end <= p.end "
        "where o.domain = 'torch' and o.category in ('cpu_op', 'user_annotation')")
    found = collections.Counter()
    for name, args, category in rows:
        if category == "user_annotation":
            found[args, (), -1] += 1
        else:
            facts = json.loads(args) if args else {}
            found[name, flat(facts.get("Input Dims", [])), facts.get("Sequence number", -1)] += 1
    return found


def of_events(path):
    with open(path, encoding="utf-8") as file:
        return collections.Counter((name, flat(dims), sequence)
                                   for name, dims, sequence in json.load(file))


def read(path):
    found = of_events(path) if path.endswith(".json") else of_trace(path)
    return collections.Counter({key: count for key, count in found.items()
                                if not key[0].startswith(LEFT_OUT)})


def through_python(found):
    """Without what a dispatch mode does not see."""
    kept = collections.Counter()
    for (name, dims, _), count in found.items():
        if name in BELOW_AUTOGRAD or name.startswith("step "):
            kept[name, tuple(dim for dim in dims if dim)] += count
    return kept


def main(first, second, *options):
    counts = [read(first), read(second)]
    if "--through-python" in options:
        counts = [through_python(found) for found in counts]
    different = sorted(key for key in counts[0] | counts[1] if counts[0][key] != counts[1][key])
    for key in different:
        print(f"{key}: {counts[0][key]} in {first}, {counts[1][key]} in {second}")
    if different or not counts[0]:
        sys.exit(f"torch_check: {len(different)} differences, {counts[0].total()} operators")
    print(f"{counts[0].total()} operators agree, {len(counts[0])} kinds")


if __name__ == "__main__":
    main(*sys.argv[1:])
