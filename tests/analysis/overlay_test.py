#!/usr/bin/python3
"""`sonde export --critical-path`: the slices in Chrome JSON and in a .pftrace are the edges of the path
that take time, one after the other, with an arrow wherever the place changes.

    overlay_test.py --sonde PATH"""
import json
import pathlib
import sys

import merged_test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from tool_case import ToolCase, main  # noqa: E402


def nanoseconds(microseconds):
    return round(microseconds * 1000)


class Overlay(ToolCase):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "trace.json"
        self.trace.write_text(json.dumps(merged_test.generate(0, 1)))

    def edges(self):
        edges = [edge for edge in self.ask("critical-path", self.trace, "--show", "edges")["edges"]
                 if edge["elapsed_ns"] > 0]
        self.assertGreaterEqual(len(edges), 20)
        return [(edge["at_ns"] - edges[0]["at_ns"], edge["elapsed_ns"], edge["kind"],
                 edge["name"] if edge["time_ns"] else f"(unexplained) {edge['name']}",
                 (edge["gpu_id"], edge["queue_id"], edge["tid"])) for edge in edges]

    def test_chrome(self):
        edges = self.edges()
        events = json.loads(self.export(self.trace, "path.json", "--critical-path").read_text())["traceEvents"]
        path = [event for event in events if event.get("cat") == "critical_path"]
        slices = [event for event in path if event["ph"] == "X"]
        origin = nanoseconds(slices[0]["ts"])
        self.assertEqual([(nanoseconds(one["ts"]) - origin, nanoseconds(one["dur"]), one["args"]["edge"], one["name"])
                          for one in slices], [edge[:4] for edge in edges])
        self.assertEqual(len({one["tid"] for one in slices}), len({edge[4] for edge in edges}), "lanes")
        changes = sum(a["tid"] != b["tid"] for a, b in zip(slices, slices[1:]))
        starts, ends = ({event["id"]: event for event in path if event["ph"] == phase} for phase in "sf")
        self.assertEqual((len(starts), starts.keys()), (changes, ends.keys()))
        self.assertGreater(changes, 0)
        for arrow in starts.values():
            self.assertIn((arrow["tid"], arrow["ts"]), [(one["tid"], one["ts"]) for one in slices])

    def test_perfetto(self):
        self.run_sonde("import", self.export(self.trace, "path.pftrace", "--critical-path"), "-o", "path.rpd")
        rows = self.ask("query", "path.rpd",
                        "SELECT end_ns - start_ns AS length FROM v_api JOIN v_string s ON s.id = "
                        "category_id WHERE s.string = 'critical_path' ORDER BY start_ns, v_api.id")["rows"]
        self.assertEqual(sorted(row["length"] for row in rows), sorted(edge[1] for edge in self.edges()))

    def test_only_where_it_is_asked_for(self):
        self.assertNotIn("critical_path", self.export(self.trace, "plain.json").read_text())

    def test_a_format_without_overlays(self):
        done = self.run_sonde("export", self.trace, "--critical-path", "-o", "x.folded", status=2)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("--critical-path", done.stderr)


if __name__ == "__main__":
    main()
