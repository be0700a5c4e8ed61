#!/usr/bin/python3
"""Times that no clock can have shown, in the trace of another tool and in an .rpd: such rows are left
out, counted and told of, and every figure is that of the rest.

    impossible_times_test.py --sonde PATH [unittest options]"""
import json

import import_case
from rpd_fixture import Fixture

# In microseconds: at both ends of 64 bits, and longer than any program runs.
IMPOSSIBLE = [(-9_000_000_000_000_000, 5), (9_000_000_000_000_000, 5), (3, 9_200_000_000_000_000),
              (9_223_372_036_854_775, 1), (5, 36_100_000_000_000), (-2_400_000_000_000_000, 1)]
POSSIBLE = [(100, 10), (200, 20), (4_000_000_000, 50), (-1_000, 5)]


def launch(number, ts, dur):
    return [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 7,
             "ts": ts, "dur": 1, "args": {"correlation": number}},
            {"ph": "X", "cat": "kernel", "name": f"kernel {number}", "pid": 0, "tid": 7, "ts": ts,
             "dur": dur, "args": {"device": 0, "stream": 7, "correlation": number}}]


def document(rows):
    events = [event for i, (ts, dur) in enumerate(rows) for event in launch(i + 1, ts, dur)]
    return json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()


class ImpossibleTimes(import_case.ImportCase):
    def test_they_are_counted_and_all_else_is_there(self):
        # A call of its launch lies at an impossible time as well, where the kernel's begin does.
        calls = sum(not -2_305_843_009_213_693 <= ts <= 4_611_686_018_427_387
                    for ts, _ in IMPOSSIBLE)
        self.load(document(POSSIBLE + IMPOSSIBLE), "trace.json", skipped=len(IMPOSSIBLE) + calls)
        self.assertIn("impossible times", self.said)
        self.assertEqual([row[4] for row in self.ops()],
                         [f"kernel {i}" for i in (4, 1, 2, 3)])
        self.assertEqual(len(self.links()), len(POSSIBLE))

    def test_figures_are_of_the_rest(self):
        path = self.write(document(POSSIBLE + IMPOSSIBLE), "both.json")
        only = self.write(document(POSSIBLE), "only.json")
        for command in ("top", "busy", "idle", "breakdown", "kernels", "api"):
            both = self.ask(command, path)
            rest = self.ask(command, only)
            self.assertTrue(any("impossible times" in text for text in both["warnings"]), command)
            for told in (both, rest):
                told.pop("file")
                told.pop("warnings", None)
            # A call that launched an impossible kernel at a possible time stays.
            if command not in ("api", "idle", "breakdown"):
                self.assertEqual(both, rest, command)
        info = self.ask("info", path)["info"]
        self.assertEqual((info["start_ns"], info["end_ns"]), (-1_000_000, 4_000_000_050_000))

    def test_nothing_else_in_the_file(self):
        self.load(document(IMPOSSIBLE[:2]), "trace.json", skipped=4)
        self.assertEqual(self.ops(), [])
        shown = self.run_sonde("busy", self.folder / "trace.json")
        self.assertIn("impossible times", " ".join((shown.stdout + shown.stderr).split()))

    def test_rpd(self):
        path = self.folder / "in.rpd"
        fixture = Fixture(path)
        for ts, dur in POSSIBLE[:3] + IMPOSSIBLE:
            start = min(max(ts * 1000, -(1 << 63)), (1 << 63) - 1)
            end = min(start + dur * 1000, (1 << 63) - 1)
            fixture.op(start, end, "kernel", apis=[fixture.api(start, start + 1, "launch")])
        fixture.close()
        busy = self.ask("busy", path)
        self.assertIn("impossible times", " ".join(busy["warnings"]))
        top = self.ask("top", path)
        self.assertEqual(top["top"][0]["total_ns"], 80_000)
        info = self.ask("info", path)["info"]
        self.assertEqual((info["start_ns"], info["end_ns"]), (3_000, 4_000_000_050_000))

    def test_times_of_every_clock_stay(self):
        """Since 1970 in ns until 2100, and the beginning of a trace a month before its base."""
        rows = [(4_102_444_800_000_000, 5), (1_700_000_000_000_000, 5), (-2_592_000_000_000, 5)]
        self.load(document(rows), "trace.json")
        self.assertEqual(len(self.ops()), 3)


if __name__ == "__main__":
    import_case.main()
