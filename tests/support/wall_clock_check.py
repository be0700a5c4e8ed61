#!/usr/bin/python3
"""wall_clock.txt and .json against plain SQL: wall_clock_check.py FILE.rpd FOLDER [mpi].

For every call the path is found by looking which calls of its thread contain it, and the figures of
each path are computed with Python's statistics. Calls must nest.
"""

import collections
import json
import re
import sqlite3
import statistics
import sys
from pathlib import Path

HEADS = ["LABEL", "COUNT", "DEPTH", "METRIC", "UNITS", "SUM", "MEAN", "MIN", "MAX", "VAR",
         "STDDEV", "% SELF"]
CALLS = """
SELECT pid, tid, start, end, CASE WHEN n.string = 'UserMarker' AND a.string <> '' THEN a.string
  ELSE n.string END FROM rocpd_api JOIN rocpd_string n ON n.id = apiName_id
  LEFT JOIN rocpd_ustring a ON a.id = args_id ORDER BY start, -end, rocpd_api.id
"""


def expected(path):
    """Of each (thread number, path) the durations of its calls, and those without what they called.
    Threads are numbered by their first call."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        calls = list(database.execute(CALLS))
    by_thread = collections.defaultdict(list)
    for pid, tid, start, end, name in calls:
        name = re.sub(r"[\x00-\x1f]", " ", name)
        by_thread[pid, tid].append((start, end, name))
    numbers, durations, own = {}, collections.defaultdict(list), {}
    for pid, tid in by_thread:
        numbers[pid, tid] = sum(other == pid for other, _ in numbers)
    for thread, rows in by_thread.items():
        of_call = []
        for i, (start, end, name) in enumerate(rows):
            around = [j for j, row in enumerate(rows[:i]) if row[0] <= start and end <= row[1]
                      and start < row[1]]
            key = numbers[thread], tuple(rows[j][2] for j in around) + (name,)
            durations[key].append(end - start)
            of_call.append([key, end - start])
            if around:
                of_call[around[-1]][1] -= end - start
        for key, own_ns in of_call:
            own.setdefault(key, []).append(own_ns)
    return durations, own


def close(found, value, digits=6):
    return abs(found - value) <= 0.5000001 * 10 ** -digits + 1e-9 * abs(value)


def label_parts(label):
    match = re.fullmatch(r"\|(?:\d\d+\|)?(\d\d+)>>> ((?:  )*)(\|_)?(.*)", label)
    assert match, label
    return int(match[1]), len(match[2]) // 2 + bool(match[3]), match[4]


def paths(labels):
    path = []
    for label in labels:
        thread, depth, name = label_parts(label)
        del path[depth:]
        assert len(path) == depth, label
        path.append(name)
        yield thread, tuple(path)


def cut(label):
    return label if len(label) <= 120 else label[:117] + "..."


def check_text(text, labels, durations, own):
    lines = [line for line in text.splitlines() if not line.startswith("|--")]
    assert len({len(line) for line in text.splitlines()}) == 1, "the lines differ in length"
    assert lines[0].strip("| ") == "REAL-CLOCK TIMER (I.E. WALL-CLOCK TIMER)"
    assert [cell.strip() for cell in lines[1].strip("|").split(" | ")] == HEADS
    rows = [re.split(r" \| +", line[2:-2]) for line in lines[2:]]
    assert [row[0].rstrip() for row in rows] == [cut(label).rstrip() for label in labels]
    for key, row in zip(paths(labels), rows):
        values = [ns / 1e9 for ns in durations[key]]
        spread = statistics.stdev(values) if len(values) > 1 else 0
        assert row[1:5] == [str(len(values)), str(len(key[1]) - 1), "wall_clock", "sec"], row
        figures = [sum(values), statistics.fmean(values), min(values), max(values), spread ** 2,
                   spread]
        for found, value in zip(row[5:11], figures):
            assert close(float(found), value), (key, row, figures)
        share = 100 * sum(own[key]) / sum(durations[key]) if sum(durations[key]) else 0
        assert close(float(row[11]), share, 1), (key, row, share)
    return len(rows)


def check_json(tree, durations):
    clock = tree["timemory"]["wall_clock"]
    assert (clock["unit_value"], clock["unit_repr"]) == (1000000000, "sec")
    rows = [row for rank in clock["ranks"] for row in rank["graph"]]
    assert [len(rank["graph"]) for rank in clock["ranks"]] == [r["graph_size"] for r in
                                                              clock["ranks"]]
    for key, row in zip(paths(row["prefix"] for row in rows), rows):
        values = durations[key]
        assert row["depth"] == len(key[1]) - 1
        assert (row["entry"]["laps"], row["entry"]["value"]) == (len(values), sum(values)), row
        check_stats(row["stats"], values, key)
    hashes = collections.defaultdict(set)
    for key, row in zip(paths(row["prefix"] for row in rows), rows):
        hashes[key[1][-1]].add(row["hash"])
        hashes["path", key[1]].add(row["rolling_hash"])
    assert all(len(found) == 1 and 0 not in found for found in hashes.values()), hashes
    of_names = [found for key, found in hashes.items() if isinstance(key, str)]
    assert len(set.union(*of_names)) == len(of_names), "two names have one hash"
    return len(rows)


def check_stats(stats, values, key):
    seconds = [ns / 1e9 for ns in values]
    want = {"sum": sum(seconds), "count": len(seconds), "min": min(seconds), "max": max(seconds),
            "sqr": sum(x * x for x in seconds), "mean": statistics.fmean(seconds),
            "stddev": statistics.stdev(seconds) if len(seconds) > 1 else 0}
    for name, value in want.items():
        assert abs(stats[name] - value) <= 1e-9 + 1e-6 * value, (key, name, stats)


def nodes_of(trees, path=()):
    """As Hatchet's reader of timemory walks them: a node whose hash is 0 stands for its children."""
    for tree in trees:
        node = tree["node"]
        below = path
        if node["hash"] != 0:
            below = path + (node["prefix"],)
            yield below, node
        else:
            assert node["is_dummy"] and node["inclusive"]["entry"]["laps"] == 0, node
        yield from nodes_of(tree["children"], below)


def check_tree(clock, durations, own, key):
    assert ("graph" in clock, "mpi" in clock) == (key == "graph", key == "mpi"), list(clock)
    found = {}
    for path, node in nodes_of(tree for rank in clock[key] for tree in rank):
        assert len(node["tid"]) == len(node["pid"]) == 1 and node["depth"] == len(path) - 1, node
        found[node["tid"][0], path] = node
    for place, node in found.items():
        values = durations[place]
        inclusive, exclusive = node["inclusive"], node["exclusive"]
        assert inclusive["entry"]["laps"] == exclusive["entry"]["laps"] == len(values), node
        assert inclusive["entry"]["value"] == sum(values), node
        assert exclusive["entry"]["value"] == sum(own[place]), node
        check_stats(inclusive["stats"], values, place)
        check_stats(exclusive["stats"], own[place], place)
    assert clock["thread_count"] == clock["concurrency"] == len({thread for thread, _ in found})
    assert (clock["process_count"], clock["mpi_size"], clock["num_ranks"]) == (1, 1, 1)
    return len(found)


def main(trace, folder, key="graph"):
    durations, own = expected(trace)
    tree = json.loads(Path(folder, "wall_clock.json").read_text())
    labels = [row["prefix"] for rank in tree["timemory"]["wall_clock"]["ranks"]
              for row in rank["graph"]]
    text = check_text(Path(folder, "wall_clock.txt").read_text(), labels, durations, own)
    json_rows = check_json(tree, durations)
    nodes = check_tree(tree["timemory"]["wall_clock"], durations, own, key)
    assert text == json_rows == nodes == len(durations) > 0, (text, json_rows, nodes)
    print(f"{text} call paths of {sum(map(len, durations.values()))} calls agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
