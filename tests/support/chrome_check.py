#!/usr/bin/python3
"""Decodes a Chrome JSON export and prints what it holds as one JSON object; fails on what a viewer
would show wrongly. Shares no code with the exporter: standard library only.

    chrome_check.py FILE

Printed: slices, instants, ops, apis, flows, counters, max_nesting, gpu_tracks and api_tracks (those
with events), base_ns, names {"api|op name": [count, total ns]}, ops_ns and apis_ns (sums),
categories, args_texts, first_ns, last_ns, counter_tracks (as Perfetto names them), processes {shown
pid: [name, real pid]}, threads {"pid/tid" as shown: [name, real tid]}, profiles {"pid/tid": [[us,
[function, outermost first]]]}.
Failures: text that is not JSON or UTF-8, times without exactly three decimals, slices of one thread
that overlap partially (of a GPU thread: at all), slices out of order, flows without both ends or
with an end outside every slice, a GPU process number that is a real one's; and what Perfetto's
reader loses or mixes up: pids and tids that are no 32-bit numbers or a thread 0 of a process (it
becomes the main thread), flow ids that are no numbers below 2^53, events of a process without a
name, counters with more than one member, sampled stacks with unknown nodes.
"""
import bisect
import collections
import gzip
import json
import sys
from collections import defaultdict
from decimal import Decimal

from malformed import Malformed, require

GPU_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset", "gpu_op"}


def nanoseconds(value, event):
    require(isinstance(value, Decimal), f"time is not a decimal number: {event}")
    require(value.as_tuple().exponent == -3, f"time has not three decimals: {event}")
    return int(value * 1000)


def no_constant(text):
    raise Malformed(f"{text} is not JSON")


def no_duplicates(pairs):
    require(len({key for key, _ in pairs}) == len(pairs), f"duplicate key: {pairs}")
    return dict(pairs)


def read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rb") as file:
        text = file.read().decode("utf-8")  # strict
    return json.loads(text, parse_float=Decimal, parse_constant=no_constant,
                      object_pairs_hook=no_duplicates)


LARGEST_EXACT = 1 << 53


def check_place(event, processes, threads):
    """Numbers that viewers keep as they are, of a process that has a name."""
    pid, tid = event["pid"], event.get("tid")
    for number in (pid,) if tid is None else (pid, tid):
        require(type(number) is int and 0 <= number < 1 << 31, f"no number of 31 bits: {event}")
    if event["ph"] == "M":
        return
    require(str(pid) in processes, f"process has no name: {event}")
    require(tid != 0 or pid == 0, f"thread 0 of a process: {event}")
    if event["ph"] in "Pstf" and tid is not None:
        require(f"{pid}/{tid}" in threads, f"thread has no name: {event}")


def check_flow_id(event):
    require(type(event["id"]) is int and 0 <= event["id"] < LARGEST_EXACT,
            f"flow id is no number that all readers take: {event}")


class Profiles:
    """Sample events as V8 writes them, read as Perfetto does: numbers of nodes are those of the
    profile (its id and the process), and each delta is since the sample before."""

    def __init__(self):
        self.now = {}
        self.nodes = collections.defaultdict(dict)
        self.found = collections.defaultdict(list)

    def take(self, event):
        key, data = (int(event["id"], 16), event["pid"]), event["args"]["data"]
        require("/" not in event["id"], f"profile id: {event}")
        if "startTime" in data:
            require(key not in self.now and list(data) == ["startTime"], f"starts twice: {event}")
            self.now[key] = data["startTime"]
            return
        nodes = self.nodes[key]
        for node in data["cpuProfile"]["nodes"]:
            require(node["id"] not in nodes, f"node twice: {event['id']} {node}")
            path = ()
            if "parent" in node:
                require(node["parent"] in nodes, f"node before its parent: {node}")
                path = nodes[node["parent"]]
            nodes[node["id"]] = (*path, node["callFrame"]["functionName"])
            require(isinstance(node["callFrame"]["url"], str), f"no url: {node}")
        samples, deltas = data["cpuProfile"]["samples"], data["timeDeltas"]
        require(len(samples) == len(deltas) > 0, f"samples without times: {event['id']}")
        for node, delta in zip(samples, deltas):
            require(node in nodes, f"sample of an unknown node {node}")
            require(type(delta) is int and delta >= 0, f"back in time: {delta}")
            self.now[key] += delta
            self.found[f"{event['pid']}/{event['tid']}"].append([self.now[key], nodes[node]])


def check_nesting(track, slices, may_nest):
    """Slices [(start, end)] in the order of the file. Returns the deepest level."""
    deepest = 0
    stack = []
    previous = None
    for start, end in slices:
        require(previous is None or previous <= (start, -end),
                f"{track}: not sorted by (ts, -dur) at {start}")
        previous = (start, -end)
        while stack and stack[-1] <= start:
            stack.pop()
        require(may_nest or not stack, f"{track}: operations overlap at {start}")
        require(not stack or end <= stack[-1], f"{track}: partial overlap at {start}")
        stack.append(end)
        deepest = max(deepest, len(stack))
    return deepest


def latest_ends(slices):
    """For each slice the latest end of it and of those before it."""
    latest, ends = None, []
    for _, end in slices:
        latest = end if latest is None else max(latest, end)
        ends.append(latest)
    return ends


def check_flows(kind, flows, tracks):
    """Each flow must lie in a slice of its track: one that starts no later and ends after it."""
    starts = {track: [start for start, _ in slices] for track, slices in tracks.items()}
    ends = {track: latest_ends(slices) for track, slices in tracks.items()}
    for pid, tid, time in flows:
        started = bisect.bisect_right(starts.get((pid, tid), []), time)
        require(started > 0 and ends[pid, tid][started - 1] > time,
                f"flow {kind} at {(pid, tid, time)} is in no slice")


def check(path):
    document = read(path)
    base = document.get("baseTimeNanoseconds", 0)
    require(isinstance(base, int), "baseTimeNanoseconds is not an integer")
    events = document["traceEvents"]
    tracks = defaultdict(list)
    gpu_pids, real_pids, categories = set(), set(), defaultdict(int)
    starts, finishes = {}, {}
    names = defaultdict(lambda: [0, 0])
    result = {"base_ns": base, "instants": 0, "counters": 0, "metadata": 0, "correlated_ops": 0}
    totals = {"op": [0, 0], "api": [0, 0]}
    args_texts = other_flows = 0
    first, last = None, None
    labels = set()
    processes, threads, profiles = {}, {}, Profiles()
    counter_tracks = set()
    for event in events:
        phase = event["ph"]
        check_place(event, processes, threads)
        if phase == "M":
            result["metadata"] += 1
            if event["name"] == "process_name":
                processes[str(event["pid"])] = [event["args"]["name"],
                                                event["args"].get("sonde pid", event["pid"])]
            if event["name"] == "thread_name":
                threads[f"{event['pid']}/{event['tid']}"] = [
                    event["args"]["name"], event["args"].get("sonde tid", event["tid"])]
            if event["name"].endswith("_name"):
                key = (event["name"], event["pid"],
                       event["tid"] if event["name"] == "thread_name" else None)
                require(key not in labels, f"named twice: {key}")
                labels.add(key)
                require(isinstance(event["args"]["name"], str), f"no name: {event}")
            continue
        time = nanoseconds(event["ts"], event)
        require(time >= 0, f"before the base: {event}")
        track = (event["pid"], event.get("tid"))
        first = time if first is None else min(first, time)
        if phase in "Xi":
            is_op = event["cat"] in GPU_CATEGORIES
            (gpu_pids if is_op else real_pids).add(event["pid"])
            require(("thread_name", *track) in labels, f"thread has no name: {event}")
            duration = nanoseconds(event["dur"], event) if phase == "X" else 0
            require(duration >= 0, f"negative duration: {event}")
            last = time + duration if last is None else max(last, time + duration)
            kind = "op" if is_op else "api"
            for total in (names[f"{kind} {event['name']}"], totals[kind]):
                total[0] += 1
                total[1] += duration
            categories[event["cat"]] += 1
            args_texts += "args" in event["args"]
            if is_op:
                result["correlated_ops"] += "correlation" in event["args"]
            if phase == "X":
                tracks[track].append((time, time + duration))
            else:
                result["instants"] += 1
        elif phase in "stf" and event["cat"] != "ac2g":
            check_flow_id(event)
            other_flows += 1
        elif phase in "sf":
            check_flow_id(event)
            ends = starts if phase == "s" else finishes
            require(event["id"] not in ends, f"flow end twice: {event}")
            ends[event["id"]] = (event["pid"], event["tid"], time)
        elif phase == "C":
            require(list(event["args"]) == ["value"], f"more than one track: {event}")
            value = event["args"]["value"]
            counter_tracks.add((event["pid"], event["name"] + " value"))
            require(isinstance(value, (int, Decimal)), f"no number: {event}")
            result["counters"] += 1
        elif phase == "P":
            profiles.take(event)
        else:
            raise Malformed(f"phase {phase}")
    require(not gpu_pids & real_pids, "a GPU has the number of a process")
    require(starts.keys() == finishes.keys(), "a flow has one end only")
    deepest = max((check_nesting(track, slices, track[0] not in gpu_pids)
                   for track, slices in tracks.items()), default=0)
    check_flows("s", starts.values(), tracks)
    check_flows("f", finishes.values(), tracks)
    result |= {"slices": sum(map(len, tracks.values())), "ops": totals["op"][0],
               "ops_ns": totals["op"][1], "apis": totals["api"][0], "apis_ns": totals["api"][1],
               "flows": len(starts), "other_flows": other_flows, "max_nesting": deepest, "categories": dict(categories),
               "gpu_tracks": sum(t[0] in gpu_pids for t in tracks),
               "api_tracks": sum(t[0] in real_pids for t in tracks), "args_texts": args_texts,
               "first_ns": first, "last_ns": last, "names": dict(names),
               "counter_tracks": sorted(counter_tracks), "processes": processes,
               "threads": threads, "profiles": profiles.found}
    return result


def main():
    try:
        print(json.dumps(check(sys.argv[1])))
    except (Malformed, ValueError, KeyError, EOFError) as error:
        sys.exit(f"{sys.argv[1]}: {type(error).__name__}: {str(error)[:500]}")


if __name__ == "__main__":
    main()
