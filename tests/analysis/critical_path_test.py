#!/usr/bin/python3
"""Compares the length of the critical path with that of the same graph built the slow way from the
JSON of a PyTorch trace with one thread: every rule of `sonde critical-path --explain` as a search
over all events, and the longest path by the standard library's sorter.

    critical_path_test.py --sonde PATH [--late-ends] NAME

With --late-ends, in a copy of the trace in which every third operation of a stream ends after the
next one begins, as the times of some devices do.

Traces come from SONDE_SHARED (default ../shared beside the project); exit 77 without."""
import argparse
import collections
import fractions
import graphlib
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from golden import SKIPPED, TRACES  # noqa: E402

KERNEL_GAP = 1_500_000  # ns
BEGIN, END = 0, 1


def is_sync(call):
    return "Synchronize" in call["name"] or call["name"] in ("cudaMemcpy", "hipMemcpyWithStream")


class Graph:
    def __init__(self, events):
        whole = [event for event in events if event.get("ph") == "X"]
        self.calls = [event for event in whole
                      if event.get("cat") in ("cpu_op", "cuda_runtime", "cuda_driver")]
        self.ops = [event for event in whole
                    if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
        for event in whole:
            for key in ("ts", "dur"):
                event[key] = int(1000 * event[key])  # ns
        self.ops.sort(key=lambda op: (op["ts"], op["dur"]))
        for number, event in enumerate(self.calls + self.ops):
            event["number"], event["end"] = number, event["ts"] + event["dur"]
        self.time = {(event["number"], edge): event[key] for event in self.calls + self.ops
                     for edge, key in ((BEGIN, "ts"), (END, "end"))}
        self.call_of = {call["args"]["correlation"]: call for call in self.calls
                        if "correlation" in call["args"]}
        self.before = collections.defaultdict(list)  # by node: (node before it, weight)
        self.awaited_by_call = collections.defaultdict(list)
        self.awaited_by_op = collections.defaultdict(list)
        self.told = set()
        self.first_launched = {}  # by stream: the start of the first operation with a call
        for op in self.ops:
            if self.launch(op):
                self.first_launched.setdefault(op["args"]["stream"], op["ts"])
        for event in whole:
            if event.get("cat") == "cuda_sync":
                self.take_sync(event)
        for op in self.ops:
            if self.launch(op) and is_sync(self.launch(op)):
                self.told.add(self.launch(op)["number"])
                self.wait(self.launch(op), op)
        for call in self.calls:
            if is_sync(call) and call["number"] not in self.told:
                self.guess(call)
        self.add_calls()
        self.add_ops()

    def launch(self, op):
        return self.call_of.get(op["args"]["correlation"])

    def launched(self, op):
        if self.launch(op):
            return self.launch(op)["ts"]
        before_all = op["ts"] <= self.first_launched.get(op["args"]["stream"], -1)
        return -math.inf if before_all else op["ts"]

    def last_op(self, stream, time):
        ops = [op for op in self.ops
               if op["args"]["stream"] == stream and self.launched(op) < time]
        return max(ops, key=lambda op: op["end"], default=None)

    def take_sync(self, sync):
        args, call = sync["args"], self.call_of.get(sync["args"]["correlation"])
        if call is None:
            return
        self.told.add(call["number"])
        time = call["ts"]
        if "wait_on_cuda_event_record_corr_id" in args:
            record = self.call_of.get(args["wait_on_cuda_event_record_corr_id"])
            if record is None:
                return
            time = record["ts"]
        if sync["name"] == "Stream Wait Event":
            awaited = self.last_op(args["wait_on_stream"], time)
            later = [op for op in self.ops if op["args"]["stream"] == args["stream"]
                     and self.launched(op) >= call["ts"]]
            if awaited and later:
                self.awaited_by_op[min(later, key=self.launched)["number"]].append(awaited)
            return
        if not is_sync(call):
            return
        streams = {"Event Sync": {args.get("wait_on_stream")}, "Stream Sync": {args["stream"]}}.get(
            sync["name"], {op["args"]["stream"] for op in self.ops})
        for stream in streams:
            self.wait(call, self.last_op(stream, time))

    def guess(self, call):
        """Nothing tells what it waited for: of what was launched before, what ended last in it; or
        what ended later, if there is no such thing."""
        last = [self.last_op(stream, call["ts"])
                for stream in {op["args"]["stream"] for op in self.ops}]
        last = [op for op in last if op and call["ts"] < op["end"]]
        inside = [op for op in last if op["end"] <= call["end"]]
        for op in [max(inside, key=lambda op: op["end"])] if inside else last:
            self.wait(call, op)

    def wait(self, call, awaited):
        """What ends after the call by less than the call lasted is late by the clock of the device:
        then the call waited for what its stream ran when it returned, or else ended before."""
        if awaited is None or awaited["end"] <= call["ts"]:
            return
        late = awaited["end"] - call["end"]
        if late >= call["dur"]:
            return
        if late > 0:
            begun = [op for op in self.ops if self.launched(op) < call["ts"] < op["end"]
                     and op["args"]["stream"] == awaited["args"]["stream"]
                     and op["ts"] < call["end"]]
            awaited = max(begun, key=lambda op: op["end"], default=None)
        if awaited:
            self.awaited_by_call[call["number"]].append(awaited)

    def edge(self, node, to, weight):
        if self.time[to] >= self.time[node]:
            self.before[to].append((node, weight))

    def add_calls(self):
        if len({(call["pid"], call["tid"]) for call in self.calls}) != 1:
            raise SystemExit("the trace has several threads")
        self.calls.sort(key=lambda c: (c["ts"], -c["end"], c["cat"] != "cpu_op"))
        opened, last = [], None
        moments = []  # (call, edge) in the order of the thread
        for call in self.calls:
            while opened and opened[-1]["end"] <= call["ts"]:
                moments.append((opened.pop(), END))
            moments.append((call, BEGIN))
            opened.append(call)
        moments += [(call, END) for call in reversed(opened)]
        depth = 0
        for call, edge in moments:
            node = (call["number"], edge)
            awaited = self.awaited_by_call[call["number"]] if edge == END else []
            if last is not None:
                self.time[node] = max(self.time[node], self.time[last])
                own = self.time[node] - self.time[last]
                self.edge(last, node, own if depth and not awaited else 0)
            for op in awaited:
                late = op["end"] > self.time[node]
                self.edge((op["number"], BEGIN if late else END), node,
                          self.time[node] - op["ts"] if late else 0)
            depth += 1 if edge == BEGIN else -1
            last = node

    def add_ops(self):
        for number, op in enumerate(self.ops):
            begin, stream = (op["number"], BEGIN), op["args"]["stream"]
            self.edge(begin, (op["number"], END), op["dur"])
            ready = []  # (time, rank of equal ones, node, kind)
            if self.launch(op):
                node = (self.launch(op)["number"], BEGIN)
                ready.append((self.time[node], 2, node, "launch"))
            earlier = [one for one in self.ops[:number] if one["args"]["stream"] == stream]
            ended = [one for one in earlier if one["end"] <= op["ts"]]
            if ended:
                last = max(ended, key=lambda one: one["end"])
                ready.append((last["end"], 1, (last["number"], END), "queue"))
            ready += [(awaited["end"], 0, (awaited["number"], END), "sync")
                      for awaited in self.awaited_by_op[op["number"]]]
            ready = [one for one in ready if one[0] <= op["ts"]]
            chosen = max(ready, key=lambda one: one[:2], default=None)
            # The times of a device are not exact: what ends after the start, but closer to it
            # than all that was before it, is what the operation waited for.
            running = min((one for one in earlier if one["end"] > op["ts"]),
                          key=lambda one: one["end"], default=None)
            if running and (not chosen or running["end"] - op["ts"] < op["ts"] - chosen[0]):
                self.edge((running["number"], BEGIN), begin, op["ts"] - running["ts"])
            elif chosen:
                time, _, node, kind = chosen
                delay = op["ts"] - time
                counts = kind == "launch" or (kind == "queue" and delay < KERNEL_GAP)
                self.edge(node, begin, delay if counts else 0)

    def longest(self):
        length = collections.defaultdict(int)
        order = graphlib.TopologicalSorter(
            {node: [one for one, _ in before] for node, before in self.before.items()})
        for node in order.static_order():
            for one, weight in self.before[node]:
                length[node] = max(length[node], length[one] + weight)
        return max(length.values())


def end_late(events):
    """Every third operation ends at most 7 us after the start of the next of its stream; how many."""
    ops = sorted((event for event in events if event.get("ph") == "X" and
                  event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")),
                 key=lambda op: (op["args"]["stream"], op["ts"]))
    changed = 0
    for number, (op, after) in enumerate(zip(ops, ops[1:])):
        if number % 3 == 0 and op["args"]["stream"] == after["args"]["stream"]:
            op["dur"] = after["ts"] - op["ts"] + 1 + number % 7
            changed += 1
    return changed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--late-ends", action="store_true")
    parser.add_argument("name")
    options = parser.parse_args()
    trace = TRACES / f"{options.name}.json.gz"
    if not trace.exists():
        print(f"no {trace.name}")
        return SKIPPED
    with gzip.open(trace, "rt") as file:
        content = json.load(file, parse_float=fractions.Fraction)
    with tempfile.TemporaryDirectory() as folder:
        if options.late_ends:
            print(f"{end_late(content['traceEvents'])} operations end late")
            trace = pathlib.Path(folder) / "late.json"
            trace.write_text(json.dumps(content, default=float))
        made = subprocess.run([options.sonde, "critical-path", str(trace), "--format", "json"],
                              capture_output=True, text=True, check=True)
    expected = Graph(content["traceEvents"]).longest()
    answer = json.loads(made.stdout)
    length = answer["bound_by_facts"]["length_ns"]
    parts = sum(row["time_ns"] for row in answer["bound_by"])
    print(f"{options.name}: {length} ns, in parts {parts} ns; the slow way: {expected} ns")
    return 0 if length == parts == expected else 1


if __name__ == "__main__":
    sys.exit(main())
