#!/usr/bin/python3
"""sonde stacks against plain SQL: stacks_check.py SONDE FILE.rpd [WEIGHT [FUNCTION=OPERATION...]].

Adds up the samples of FILE by call path with nothing but sqlite3, and compares each row of --by tree,
--by callers and --by leaf, and each box of the flame graph, with it. WEIGHT is cpu or wall; or gpu: the
operations below the stacks of the calls that launched them, in files without markers and operators.
Then a FUNCTION that alone launched all that is called OPERATION must have exactly the time of these.
"""

import collections
import json
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree

from tool_case import sql

SVG = "{http://www.w3.org/2000/svg}"


def frames_of(database):
    """{stack id: ((function, file) ...)}, outermost first, inlined functions too; of Python "file:line"."""
    modules = dict(database.execute("SELECT id, path FROM sonde_module"))
    frame = {}
    for number, kind, module, address, function, file, line, inlined in database.execute(
            "SELECT id, kind, module_id, address, function, file, line, inlined_into FROM sonde_frame"):
        text = f"{address:#x}" if function is None else function
        if kind == "python" and line:
            file = f"{file}:{line}"
        frame[number] = ((text, modules.get(module, "") if file is None else file), inlined)
    paths = {}
    for number, parent, innermost in database.execute(
            "SELECT id, parent_id, frame_id FROM sonde_stack ORDER BY id"):
        own, at = [], innermost
        while at:
            own.append(frame[at][0])
            at = frame[at][1]
        paths[number] = paths.get(parent, ()) + tuple(reversed(own))
    return paths


OPERATIONS = """SELECT l.stack_id, a.name, o.name, o.ns FROM
    (SELECT o.id, o.end - o.start AS ns, iif(d.string = '', t.string, d.string) AS name FROM rocpd_op o
     JOIN rocpd_string d ON d.id = o.description_id JOIN rocpd_string t ON t.id = o.opType_id) o
    LEFT JOIN (SELECT op_id, min(api_id) AS api_id FROM rocpd_api_ops GROUP BY op_id) k ON k.op_id = o.id
    LEFT JOIN (SELECT a.id, s.string AS name FROM rocpd_api a JOIN rocpd_string s ON s.id = a.apiName_id)
      a ON a.id = k.api_id
    LEFT JOIN sonde_launch_stack l ON l.api_id = a.id"""


def weighed_paths(database, weight):
    paths = frames_of(database)
    if weight != "gpu":
        for stack, ns in samples_of(database, weight):
            yield paths[stack], ns
        return
    for stack, api, operation, ns in database.execute(OPERATIONS):
        yield (*paths.get(stack, ()), (api or "(unattributed)", ""), (operation, "")), ns


def samples_of(database, weight):
    yield from database.execute("SELECT stack_id, cpu_ns FROM sonde_sample WHERE cpu_ns > 0")
    if weight == "wall":
        yield from database.execute("SELECT stack_id, wall_ns FROM sonde_blocked WHERE wall_ns > 0")


class Oracle:
    def __init__(self, path, weight):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            samples = list(weighed_paths(database, weight))
        self.self_ns, self.total, self.callers = (collections.Counter() for _ in range(3))
        self.leaf, self.count = collections.Counter(), collections.Counter()
        for path, ns in samples:
            self.self_ns[path] += ns
            self.count[path] += 1
            self.leaf[path[-1]] += ns
            for depth in range(1, len(path) + 1):
                self.total[path[:depth]] += ns
                self.callers[path[::-1][:depth]] += ns
        self.whole = sum(self.self_ns.values())

    def common(self):
        """What all paths begin with, with no time of its own and something below it."""
        prefix = ()
        while True:
            below = {path[:len(prefix) + 1] for path in self.total if path[:len(prefix)] == prefix
                     and len(path) > len(prefix)}
            if len(below) != 1 or next(iter(below)) in self.self_ns:
                return prefix
            prefix = below.pop()


def ask(sonde, file, weight, *arguments):
    run = subprocess.run([sonde, "stacks", file, "--native", "--weight", weight, *arguments],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    return run.stdout


def paths_of(rows):
    path = []
    for row in rows:
        del path[row["depth"]:]
        path.append((row["frame"], row["file"]))
        yield tuple(path), row


def check_tables(sonde, file, weight, oracle):
    def rows(by):
        text = ask(sonde, file, weight, "--by", by, "--min-share", "0", "--format", "json")
        return json.loads(text)["stacks"]
    common = oracle.common()
    found = {common + path: (row["total_ns"], row["self_ns"], row["count"])
             for path, row in paths_of(rows("tree"))}
    expected = {path: (ns, oracle.self_ns[path], oracle.count[path])
                for path, ns in oracle.total.items() if len(path) > len(common)}
    assert found == expected, sorted(set(found.items()) ^ set(expected.items()))[:4]
    found = {path: row["total_ns"] for path, row in paths_of(rows("callers"))}
    assert found == dict(oracle.callers)
    if weight != "gpu":  # there the leaf is of the stack
        found = {(row["frame"], row["file"]): row["total_ns"] for row in rows("leaf")}
        assert found == dict(oracle.leaf)
    assert sum(row["total_ns"] for row in rows("leaf")) == oracle.whole
    assert sum(row["total_ns"] for row in rows("user")) == oracle.whole
    return len(expected)


def check_flame(sonde, file, weight, oracle):
    root = xml.etree.ElementTree.fromstring(
        ask(sonde, file, weight, "--by", "tree", "--format", "svg"))
    for element in root.iter():
        for name, value in element.attrib.items():
            assert name not in ("src", "href") and not name.startswith("on"), (element.tag, name)
            assert "url(" not in value and "//" not in value, (name, value)
    boxes = [(float(box.get("data-x")), float(box.get("data-w")), int(box.get("data-y")),
              box.get("data-n")) for box in root.iter(f"{SVG}g") if box.get("class") == "b"]
    assert boxes[0] == (0.0, 1.0, 0, "all"), boxes[0]
    path, drawn = [], collections.Counter()
    for x, width, depth, name in boxes[1:]:
        del path[depth - 1:]
        outer = path[-1] if path else (0, 1, "all")
        assert outer[0] - 2e-6 <= x and x + width <= outer[0] + outer[1] + 2e-6, (name, outer)
        path.append((x, width, name))
        drawn[tuple(box[2] for box in path)] += width
    expected = collections.Counter()
    for frames, ns in oracle.total.items():
        expected[tuple(frame[0] for frame in frames)] += ns / oracle.whole
    for names, width in drawn.items():
        assert abs(width - expected[names]) < 1e-5, (names, width, expected[names])
    assert sum(width for names, width in drawn.items() if len(names) == 1) > 0.99
    return len(drawn)


def check_functions(sonde, file, expected):
    text = ask(sonde, file, "gpu", "--by", "tree", "--min-share", "0", "--format", "json")
    total, by_operation = collections.Counter(), collections.Counter()
    for row in json.loads(text)["stacks"]:
        total[row["frame"].partition("(")[0]] += row["total_ns"]
    for _, _, operation, ns in sql(file, OPERATIONS):
        by_operation[operation] += ns
    for function, operation in (pair.split("=") for pair in expected):
        assert by_operation[operation] > 0, f"no {operation}"
        assert total[function] == by_operation[operation], (
            f"{function}: {total[function]} ns, {operation}: {by_operation[operation]} ns")
    print(f"{len(expected)} functions have the time of their operations")


def main(sonde, file, weight="cpu", *functions):
    oracle = Oracle(file, weight)
    assert oracle.whole > 0, "no samples"
    paths = check_tables(sonde, file, weight, oracle)
    print(f"{paths} paths and {check_flame(sonde, file, weight, oracle)} boxes agree")
    if functions:
        check_functions(sonde, file, functions)


if __name__ == "__main__":
    main(*sys.argv[1:])
