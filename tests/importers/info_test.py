#!/usr/bin/python3
"""`sonde info` tells the trace of another tool for what it is, and summaries of imports and merges count
counters.

    info_test.py --sonde PATH [unittest options]"""
import json

import import_case
from protobuf import message
from tool_case import change

LONG = {"steps": [f"step {i} of a schedule" for i in range(200)]}


def kineto(base=None):
    events = [{"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "python3"}},
              {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 7, "tid": 7, "ts": 1, "dur": 50,
               "args": {}},
              {"ph": "C", "name": "loss", "pid": 7, "ts": 5, "args": {"value": 1.5}},
              {"ph": "C", "name": "loss", "pid": 7, "ts": 6, "args": {"value": 1.25}}]
    told = {"schemaVersion": 1, "schedule": LONG, "trace_id": "17", "traceEvents": events}
    if base is not None:
        told["baseTimeNanoseconds"] = base
    return json.dumps(told).encode()


def pftrace():
    clock = [(6, [(1, [(1, 3), (2, 5)]), (1, [(1, 6), (2, 5)]), (2, 3)])]
    track = [(60, [(1, 1), (4, [(1, 9), (2, 9), (5, "main")])])]
    begin = [(8, 1000), (58, 3), (10, 1), (11, [(9, 1), (11, 1), (23, "work")])]
    end = [(8, 2000), (58, 3), (10, 1), (11, [(9, 2), (11, 1)])]
    return b"".join(message((1, packet)) for packet in (clock, track, begin, end))


class Info(import_case.ImportCase):
    def info(self, path, *options):
        return self.run_sonde("info", path, *options).stdout

    def test_a_pytorch_trace(self):
        path = self.write(kineto(base=1_700_000_000_000_000_000), "trace.json")
        told = self.ask("info", path)
        self.assertTrue(told["info"]["format"].startswith("kineto: PyTorch profiler"), told["info"])
        self.assertEqual(told["info"]["made_by"], "another tool")
        self.assertIn("time of day", told["info"]["clock"])
        self.assertNotIn("imported_from", told["info"])
        self.assertEqual([(row["pid"], row["command"]) for row in told["processes"]],
                         [(7, "python3")])
        for line in self.info(path).splitlines():
            self.assertNotIn("RPD schema", line)
            self.assertNotIn("CLOCK_MONOTONIC", line)

    def test_a_trace_that_does_not_tell_its_clock(self):
        path = self.write(kineto(), "trace.json")
        self.assertIn("the trace's own", self.ask("info", path)["info"]["clock"])

    def test_a_perfetto_trace(self):
        path = self.write(pftrace(), "trace.pftrace")
        info = self.ask("info", path)["info"]
        self.assertTrue(info["format"].startswith("perfetto: "), info)
        self.assertEqual(info["clock"], "CLOCK_MONOTONIC of the recorded machine")

    def test_an_import_says_what_it_was_made_of(self):
        self.load(kineto(), "trace.json")
        info = self.ask("info", self.folder / "out.rpd")["info"]
        self.assertEqual((info["format"], info["made_by"]),
                         ("RPD schema v3", "another tool, imported by Sonde"))
        self.assertIn("trace.json (kineto: ", info["imported_from"])

    def test_long_metadata_only_when_asked(self):
        path = self.write(kineto(), "trace.json")
        short, whole = self.info(path), self.info(path, "--metadata")
        self.assertNotIn("step 7 of a schedule", short)
        self.assertIn("characters; --metadata shows it", short)
        self.assertIn("trace_id", short)
        self.assertIn("step 7 of a schedule", whole)
        values = {row["key"]: row["value"] for row in self.ask("info", path)["metadata"]}
        self.assertEqual(json.loads(values["schedule"]), LONG)

    def test_summaries_count_counters(self):
        self.load(kineto(), "trace.json")
        self.assertIn(" 2 counter values", self.said)
        source = self.folder / "source.rpd"
        (self.folder / "out.rpd").rename(source)
        change(source, "INSERT INTO rocpd_monitor (deviceType, deviceId, monitorType, start, end, "
                       "value) VALUES ('gpu', 0, 'sclk', 5000, 5000, '1700')")
        done = self.run_sonde("merge", source, "-o", self.folder / "m.rpd")
        self.assertIn(" 3 counter values", done.stdout, done.stderr)


if __name__ == "__main__":
    import_case.main()
