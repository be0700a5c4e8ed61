#!/usr/bin/python3
"""Real PyTorch traces, imported and exported as JSON again, must say the same to the programs that
read such traces. Two of them are played here, from what they look for and with nothing but Python's
standard library: one that makes a table of events and finds GPU work by its stream and correlation
(as HTA), and one that builds trees from arguments and follows arrows (as TraceLens).

    kineto_readers_test.py --sonde PATH [FILE...]

The traces come from SONDE_SHARED (default ../shared beside the project); exit 77 without."""
import argparse
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from golden import SKIPPED, TRACES  # noqa: E402

GPU = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
SECRET = re.compile("TOKEN|KEY|SECRET|PASS|JWT|CREDENTIAL", re.IGNORECASE)
# Members of the document that an export makes itself.
OWN_HEAD = {"traceEvents", "traceName", "displayTimeUnit", "baseTimeNanoseconds", "schemaVersion"}
# What the table reader makes columns of, and what the tree reader looks up.
TABLE_ARGS = ("stream", "correlation", "External id", "device", "bytes", "memory bandwidth (GB/s)",
              "grid", "block", "kind", "queued", "registers per thread", "shared memory",
              "blocks per SM", "warps per SM", "est. achieved occupancy %", "cbid", "cid", "Trace iter",
              "Collective name", "dtype", "In msg nelems", "Out msg nelems", "In split size",
              "Out split size", "Group size", "Process Group Name", "Process Group Ranks", "Rank",
              "wait_on_stream", "wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_id")
TREE_ARGS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs", "Sequence number",
             "Fwd thread id", "Ev Idx", "Record function id", "Python id", "Python parent id",
             "Python module id", "External id", "kernel", "kernel_file", "kernel_kwargs",
             "num_warps", "Total Allocated", "Total Reserved", "Bytes", "Addr", "Device Type")


def read(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as file:
        document = json.loads(file.read().decode("utf-8", "replace"), parse_float=Decimal)
    if isinstance(document, list):
        document = {"traceEvents": document}
    return document


def frozen(value):
    return json.dumps(value, sort_keys=True, default=str)


def told(value):
    """What an export tells of the document's members: no value of a name that speaks of a secret."""
    if not isinstance(value, dict):
        return value
    return {name: "***" if SECRET.search(name) and isinstance(inner, str) else told(inner)
            for name, inner in value.items()}


class Reader:
    """One trace as its readers see it."""

    def __init__(self, path):
        self.document = read(path)
        self.base = self.document.get("baseTimeNanoseconds", 0)
        self.events = self.document["traceEvents"]
        self.real_tid = {(e["pid"], e["tid"]): e["args"]["sonde tid"] for e in self.events
                         if e["ph"] == "M" and "sonde tid" in e.get("args", {})}

    def ns(self, event, key="ts"):
        base = self.base if key == "ts" else 0
        return base + int((Decimal(str(event[key])) * 1000).to_integral_value())

    def place(self, event):
        """Process and thread of the host; a GPU's are a matter of looks."""
        if event.get("cat") in GPU or isinstance(event.get("pid"), str):
            return None
        tid = self.real_tid.get((event["pid"], event["tid"]), event["tid"])
        # Frames of threads that ran no operator all have the thread 0; an import tells them apart.
        no_thread = event.get("cat") == "python_function" and (tid == 0 or tid < 0)
        return None if no_thread or isinstance(tid, str) else (event["pid"], tid)

    def table(self):
        """Rows as the table reader keeps them: complete events of a category."""
        rows = Counter()
        for event in self.events:
            if event["ph"] != "X" or not event.get("cat") or event["cat"] == "Trace":
                continue
            args = event.get("args") or {}
            rows[event["cat"], event["name"], self.ns(event), self.ns(event, "dur"),
                 self.place(event),
                 frozen({key: args[key] for key in TABLE_ARGS if key in args})] += 1
        return rows

    def launches(self):
        """Kernels and the calls that launched them, by correlation: on the host there is no stream."""
        calls = {}
        for event in self.events:
            args = event.get("args") or {}
            if event["ph"] == "X" and event.get("cat") in ("cuda_runtime", "cuda_driver", "Runtime"):
                calls.setdefault(args.get("correlation"), event)
        pairs = Counter()
        for event in self.events:
            if event["ph"] != "X" or event.get("cat") not in GPU:
                continue
            args = event.get("args") or {}
            call = calls.get(args.get("correlation")) if "correlation" in args else None
            pairs[event["name"], self.ns(event), args.get("device"), args.get("stream"),
                  call and (call["name"], self.ns(call))] += 1
        return pairs

    def tree(self):
        rows = Counter()
        for event in self.events:
            if event["ph"] not in "Xi" or not event.get("cat"):
                continue
            args = event.get("args") or {}
            rows[event["ph"], event["cat"], event["name"], self.ns(event),
                 frozen({key: args[key] for key in TREE_ARGS if key in args})] += 1
        return rows

    def arrows(self):
        """GPU work found by an arrow: the end at the call, the end at the work, at their starts."""
        begins, found = {}, set()
        at = defaultdict(list)
        for event in self.events:
            if event["ph"] == "X":
                at[event["pid"], event["tid"], str(event["ts"])].append(event)
        for event in self.events:
            if event["ph"] == "s" and event.get("cat") in ("ac2g", "async_cpu_to_gpu"):
                begins[event["id"]] = event
        for event in self.events:
            if event["ph"] != "f" or event["id"] not in begins:
                continue
            begin = begins[event["id"]]
            for work in at[event["pid"], event["tid"], str(event["ts"])]:
                for call in at[begin["pid"], begin["tid"], str(begin["ts"])]:
                    same = (work.get("args") or {}).get("correlation")
                    if work.get("cat") in GPU and (call.get("args") or {}).get("correlation") == same:
                        found.add((work["name"], self.ns(work), call["name"], self.ns(call)))
        return found

    def other_arrows(self):
        return Counter((e["cat"], e["name"], str(e["id"]), e["ph"], self.ns(e), e["pid"], e["tid"])
                       for e in self.events
                       if e["ph"] in "stf" and e.get("cat") not in ("ac2g", "async_cpu_to_gpu"))

    def head(self):
        return {key: frozen(told(value)) for key, value in self.document.items() if key not in OWN_HEAD}

    def durations(self):
        sums = defaultdict(lambda: [0, 0])
        for event in self.events:
            if event["ph"] == "X" and event.get("cat"):
                sums[event["cat"]][0] += 1
                sums[event["cat"]][1] += self.ns(event, "dur")
        return dict(sums)


def differences(what, before, after):
    if before == after:
        return []
    if isinstance(before, Counter):
        lost, new = list((before - after).items()), list((after - before).items())
    else:
        as_set = lambda value: set(value.items()) if isinstance(value, dict) else set(value)
        before = {k: tuple(v) if isinstance(v, list) else v for k, v in before.items()} \
            if isinstance(before, dict) else before
        after = {k: tuple(v) if isinstance(v, list) else v for k, v in after.items()} \
            if isinstance(after, dict) else after
        lost, new = list(as_set(before) - as_set(after)), list(as_set(after) - as_set(before))
    return [f"{what}: {len(lost)} lost, {len(new)} new; first {str(lost[:1])[:600]} became "
            f"{str(new[:1])[:600]}"]


def check(sonde, path, folder):
    out = folder / "out.json"
    subprocess.run([sonde, "export", path, "-o", out], check=True, capture_output=True)
    before, after = Reader(path), Reader(out)
    out.unlink()
    problems = []
    for what in ("durations", "table", "launches", "tree", "other_arrows", "head"):
        is_, was = getattr(after, what)(), getattr(before, what)()
        if what == "head":
            is_ = {key: value for key, value in is_.items() if key in was}
        problems += differences(what, was, is_)
    # Zero-length slices cannot hold an arrow in a viewer, so an export leaves those out, and draws
    # the others that the profiler left out.
    lost = {a for a in before.arrows() - after.arrows()}
    zero = {(e["name"], before.ns(e)) for e in before.events if e["ph"] == "X" and not e["dur"]}
    lost = {a for a in lost if (a[0], a[1]) not in zero and (a[2], a[3]) not in zero}
    problems += differences("arrows", lost, set())
    return len(before.events), problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    files = options.files or sorted(TRACES.glob("*.json.gz"))
    if not files:
        print("skipped: no data/kineto under SONDE_SHARED")
        return SKIPPED
    failed = 0
    with tempfile.TemporaryDirectory(prefix="sonde_kineto.") as folder:
        for path in files:
            events, problems = check(os.path.abspath(options.sonde), path, pathlib.Path(folder))
            print(f"{path.name}: {events} events" + ("" if problems else " say the same"))
            for problem in problems:
                print("   ", problem)
            failed += bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
