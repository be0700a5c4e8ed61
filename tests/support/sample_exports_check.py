#!/usr/bin/python3
"""Sampled call stacks in exports: sample_exports_check.py FILE.rpd PREFIX.

Decodes PREFIX.pftrace, .json, .pb.gz, .speedscope.json and .folded with the standard library alone,
and compares the stacks of each with those that plain SQL finds in FILE.rpd.
"""

import collections
import gzip
import json
import sqlite3
import sys
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import chrome_check  # noqa: E402
import pftrace_check  # noqa: E402
import stacks_check  # noqa: E402


def samples(path):
    """[(time, pid, tid, ns, blocked, (function ...) outermost first)]"""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        stacks = {number: tuple(frame[0] for frame in frames)
                  for number, frames in stacks_check.frames_of(database).items()}
        rows = [(time, pid, tid, ns, False, stacks[stack]) for time, pid, tid, ns, stack in
                database.execute("SELECT time_ns, pid, tid, cpu_ns, stack_id FROM sonde_sample s "
                                 "JOIN sonde_process p ON p.id = process_id")]
        rows += [(time, pid, tid, ns, True, stacks[stack]) for time, pid, tid, ns, stack in
                 database.execute("SELECT time_ns, pid, tid, wall_ns, stack_id FROM sonde_blocked "
                                  "s JOIN sonde_process p ON p.id = process_id")]
    return rows


def by_path(rows, blocked=False):
    total = collections.Counter()
    for _, _, _, ns, was_blocked, path in rows:
        if was_blocked == blocked and ns > 0:
            total[path] += ns
    return total


def packets(data):
    for _, packet in pftrace_check.fields(data):
        values = pftrace_check.message(packet)
        inner = values.get(50)
        if inner:
            import zlib
            yield from packets(zlib.decompress(inner[0]))
        else:
            yield values


def pftrace(path, rows):
    """Samples of running threads are PerfSamples, the others slices below their thread's track."""
    one, message = pftrace_check.one, pftrace_check.message
    tables = collections.defaultdict(dict)
    found, blocked = [], []
    tracks, threads, begun = {}, {}, {}

    def names_of(stack):
        return tuple(one(tables[5][one(tables[6][iid], 2)], 2).decode()
                     for iid in tables[7][stack][2])

    for values in packets(path.read_bytes()):
        for data in values.get(12, []):
            for field, entry in pftrace_check.fields(data):
                body = message(entry)
                tables[field][one(body, 1)] = body
        for data in values.get(66, []):
            body = message(data)
            for frame in (tables[6][iid] for iid in tables[7][one(body, 4)][2]):
                mapping = tables[19][one(frame, 3)]
                assert one(mapping, 7) in tables[17] and one(mapping, 2) in tables[16]
                assert one(frame, 5) is None or one(frame, 5) in tables[18]
            found.append((one(values, 8), one(body, 2), one(body, 3), names_of(one(body, 4))))
        for data in values.get(60, []):
            body = message(data)
            tracks[one(body, 1)] = one(body, 5)
            for thread in body[4]:
                threads[one(body, 1)] = (one(message(thread), 1), one(message(thread), 2))
        for data in values.get(11, []):
            body = message(data)
            track, kind, time = one(body, 11), one(body, 9), one(values, 8)
            if kind == 1 and one(tables[1][one(body, 3)], 2) == b"sonde_blocked":
                assert track not in begun, "blocked twice"
                names = names_of(one(body, 56))
                assert one(body, 23).decode() == names[-1]
                begun[track] = (time, *threads[tracks[track]], names)
            elif kind == 2 and track in begun:
                began, pid, tid, names = begun.pop(track)
                blocked.append((began, pid, tid, time - began, True, names))
    assert not begun, "blocked without end"
    expected = [(time, pid, tid, path) for time, pid, tid, ns, was_blocked, path in rows
                if not was_blocked and ns > 0]
    assert sorted(found) == sorted(expected), (len(found), len(expected))
    waits = [row for row in rows if row[4]]
    assert sorted(blocked) == sorted(waits), (len(blocked), len(waits))
    return len(found) + len(blocked)


def chrome(path, rows):
    document = json.loads(path.read_text(), parse_float=Decimal)
    frames, base = document["stackFrames"], document["baseTimeNanoseconds"]

    def names(number):
        frame = frames[number]
        return (names(frame["parent"]) if "parent" in frame else ()) + (frame["name"],)
    found = [(int(row["ts"] * 1000) + base, row["pid"], row["tid"], row["weight"],
              row["name"] == "blocked", names(row["sf"])) for row in document["samples"]]
    assert sorted(found) == sorted(rows), (len(found), len(rows))
    # The same once more as events, in whole microseconds, of threads that ran.
    profiles = chrome_check.check(str(path))["profiles"]
    events = [(us, *map(int, place.split("/")), tuple(names)) for place, taken in profiles.items()
              for us, names in taken]
    ran = [((time - base) // 1000, pid, tid, names) for time, pid, tid, ns, blocked, names in rows
           if not blocked and ns > 0]
    assert sorted(events) == sorted(ran), (len(events), len(ran))
    return len(found)


def pprof(path, rows):
    one, message = pftrace_check.one, pftrace_check.message
    profile = message(gzip.decompress(path.read_bytes()))
    texts = [text.decode() for text in profile[6]]
    functions = {one(message(body), 1): texts[one(message(body), 2)] for body in profile[5]}
    places = {one(message(body), 1): functions[one(message(one(message(body), 4)), 1)]
              for body in profile[4]}
    types = [tuple(texts[one(message(body), field)] for field in (1, 2)) for body in profile[1]]
    column, count = types.index(("cpu", "nanoseconds")), types.index(("samples", "count"))
    total, taken = collections.Counter(), 0
    for body in profile[2]:
        sample = message(body)
        path = tuple(places[number] for number in reversed(sample[1]))
        if sample[2][column]:
            total[path[2:]] += sample[2][column]  # without process and thread
        taken += sample[2][count]
    assert texts[one(profile, 14)] == "cpu"
    assert total == by_path(rows) and taken == len(rows), (taken, len(rows))
    return len(total)


def speedscope(path, rows):
    document = json.loads(path.read_text())
    names = [frame["name"] for frame in document["shared"]["frames"]]
    for title, blocked in (("CPU time, sampled", False), ("Blocked time, sampled", True)):
        expected = by_path(rows, blocked)
        profiles = [p for p in document["profiles"] if p["name"] == title]
        assert len(profiles) == bool(expected), title
        total = collections.Counter()
        for profile in profiles:
            for stack, ns in zip(profile["samples"], profile["weights"]):
                total[tuple(names[frame] for frame in stack)[2:]] += ns
        assert total == expected, title
    return len(by_path(rows))


def folded(path, rows):
    total = collections.Counter()
    for line in path.read_text().splitlines():
        stack, ns = line.rsplit(" ", 1)
        total[tuple(stack.split(";"))[2:]] += int(ns)
    expected = collections.Counter()
    for names, ns in by_path(rows).items():
        expected[tuple(name.replace(";", ":") for name in names)] += ns
    assert total == expected
    return len(total)


def main(trace, prefix):
    rows = samples(trace)
    assert rows, "no samples"
    for kind, end in ((pftrace, "pftrace"), (chrome, "json"), (pprof, "pb.gz"),
                      (speedscope, "speedscope.json"), (folded, "folded")):
        print(f"{kind.__name__}: {kind(Path(f'{prefix}.{end}'), rows)} agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
