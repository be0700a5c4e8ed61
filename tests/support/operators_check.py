#!/usr/bin/python3
"""Compares `sonde operators --format json` with key_averages() of torch.profiler.

    operators_check.py REPORT.json AVERAGES.json [TRACE.rpd] [NAME...]
        AVERAGES is what torch_work.py --averages wrote of the same steps. NAMEs are left out, as
        are the scopes of the program. key_averages() drops the only call in one of the same name,
        by times in whole microseconds: where it dropped some, the count is between those that it
        left and the events. By exact times there may be some to drop where it dropped none: then
        TRACE must have all the events.
    operators_check.py REPORT.json TRACE.rpd
        key_averages() of torch itself on the calls in TRACE, with their exact times: the counts
        and the times without what is inside are equal.

One line per difference; exit 1 if there is any.
"""

import json
import sys

from tool_case import sql

# "defaults" is what TorchScript runs as it compiles, which is before the profiled part as well.
SCOPES = ("step ", "profiled", "Optimizer.", "ProfilerStep#", "profiler::", "defaults")


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return {row["operator"]: row for row in json.load(file)["operators"]}


def recorded(path):
    return dict(sql(path, "select apiName, count(*) from api where domain = 'torch' and category = 'cpu_op' group by 1"))


def compare_averages(rows, path, left_out):
    with open(path, encoding="utf-8") as file:
        read = json.load(file)
    traces = [name for name in left_out if name.endswith(".rpd")]
    there = recorded(traces[0]) if traces else {}
    equal = 0
    for name, count in sorted(read["averages"].items()):
        if name.startswith(SCOPES) or name in left_out:
            continue
        events = read["events"][name]
        calls = rows[name]["calls"] if name in rows else None
        if calls == count == events:
            equal += 1
        elif calls is not None and calls < count == events == there.get(name):
            continue
        elif calls is None or count == events or not 0 < calls <= events:
            yield f"{name}: {calls} calls, {count} of key_averages(), {events} events"
    if equal < 30:
        yield f"only {equal} names to compare"


def averages_by_torch(path):
    from torch.autograd.profiler_util import EventList, FunctionEvent

    calls = sql(path, "select apiName, pid * 100000000 + tid, start, end from api "
                      "where domain = 'torch' and category = 'cpu_op'")
    # Nanoseconds for what torch takes as microseconds: they are only compared and added.
    events = EventList([FunctionEvent(number, name, thread, start, end, stack=[])
                        for number, (name, thread, start, end) in enumerate(calls)])
    events._build_tree()
    return {row.key: (row.count, row.self_cpu_time_total) for row in events.key_averages()}


def compare_exactly(rows, path):
    averages = averages_by_torch(path)
    found = {name: (row["calls"], row["cpu_self_ns"]) for name, row in rows.items()}
    if not averages:
        yield f"no operators in {path}"
    for name in sorted(averages.keys() | found.keys()):
        if averages.get(name) != found.get(name):
            yield f"{name}: calls and own ns {found.get(name)}, by torch {averages.get(name)}"


def main(report, other, *left_out):
    rows = rows_of(report)
    compared = (compare_exactly(rows, other) if other.endswith(".rpd")
                else compare_averages(rows, other, left_out))
    differences = list(compared)
    print("\n".join(differences) or f"{len(rows)} rows as key_averages() has them")
    sys.exit(1 if differences else 0)


main(*sys.argv[1:])
