#!/usr/bin/python3
"""`sonde export --critical-path`: the slices in Chrome JSON and in a .pftrace are the edges of the path
that take time, one after the other, with an arrow wherever the place changes.

    overlay_test.py --sonde PATH"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import merged_test


def run(*words):
    made = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
    return made.returncode, made.stdout, made.stderr


def expected_edges(sonde, trace):
    _, text, _ = run(sonde, "critical-path", trace, "--show", "edges", "--format", "json")
    edges = [edge for edge in json.loads(text)["edges"] if edge["elapsed_ns"] > 0]
    return [(edge["at_ns"] - edges[0]["at_ns"], edge["elapsed_ns"], edge["kind"],
             edge["name"] if edge["time_ns"] else f"(unexplained) {edge['name']}",
             (edge["gpu_id"], edge["queue_id"], edge["tid"])) for edge in edges]


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def chrome_problems(events, edges):
    slices = [event for event in events if event.get("cat") == "critical_path"
              and event["ph"] == "X"]
    origin = nanoseconds(slices[0]["ts"])
    shown = [(nanoseconds(one["ts"]) - origin, nanoseconds(one["dur"]), one["args"]["edge"],
              one["name"]) for one in slices]
    if shown != [edge[:4] for edge in edges]:
        yield "the slices are not the edges of the path"
    lanes = {one["tid"] for one in slices}
    if len(lanes) != len({edge[4] for edge in edges}):
        yield f"{len(lanes)} lanes"
    changes = sum(a["tid"] != b["tid"] for a, b in zip(slices, slices[1:]))
    starts, ends = ({event["id"]: event for event in events
                     if event.get("cat") == "critical_path" and event["ph"] == phase}
                    for phase in "sf")
    if len(starts) != changes or starts.keys() != ends.keys() or changes == 0:
        yield f"{len(starts)} arrows for {changes} changes of the lane"
    for arrow in starts.values():
        if not any(one["tid"] == arrow["tid"] and one["ts"] == arrow["ts"] for one in slices):
            yield f"an arrow from nowhere: {arrow}"


def perfetto_problems(sonde, path, edges):
    imported = path.with_suffix(".rpd")
    run(sonde, "import", path, "-o", imported)
    _, text, _ = run(sonde, "query", imported, "--format", "json",
                     "SELECT end_ns - start_ns AS length FROM v_api JOIN v_string s ON s.id = "
                     "category_id WHERE s.string = 'critical_path' ORDER BY start_ns, v_api.id")
    lengths = [row["length"] for row in next(iter(
        value for value in json.loads(text).values() if isinstance(value, list)))]
    if sorted(lengths) != sorted(edge[1] for edge in edges):
        yield f"{len(lengths)} slices in the .pftrace, not {len(edges)}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    sonde = parser.parse_args().sonde
    problems = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trace = folder / "trace.json"
        trace.write_text(json.dumps(merged_test.generate(0, 1)))
        edges = expected_edges(sonde, trace)
        run(sonde, "export", trace, "--critical-path", "-o", folder / "path.json")
        document = json.loads((folder / "path.json").read_text())
        problems += chrome_problems(document["traceEvents"], edges)
        run(sonde, "export", trace, "--critical-path", "-o", folder / "path.pftrace")
        problems += perfetto_problems(sonde, folder / "path.pftrace", edges)
        run(sonde, "export", trace, "-o", folder / "plain.json")
        if "critical_path" in (folder / "plain.json").read_text():
            problems.append("the path is there without being asked for")
        status, _, error = run(sonde, "export", trace, "--critical-path", "-o", folder / "x.folded")
        if status != 2 or error.count("\n") != 1 or "--critical-path" not in error:
            problems.append(f"a format without overlays: {error}")
    print("\n".join(problems) or f"{len(edges)} edges of the path are slices")
    return 1 if problems or len(edges) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
