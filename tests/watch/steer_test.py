#!/usr/bin/python3
"""sonde start, stop, mark and status: steer_test.py --sonde PATH [unittest options].

The program makes a known number of markers between what it is told, so a window that begins late,
ends early or misses a thread shows in the counts. No test gives --all: it would switch other recordings
of the user as well.
"""
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from tool_case import ROOT, ToolCase, main, sql  # noqa: E402

THREADS = 4
LIMIT_SECONDS = 120


class Steered(ToolCase):
    # Others may record on this machine, too, and call it t.rpd.
    def begin(self, *options, name=f"t{os.getpid()}.rpd", program="steered.py"):
        self.trace = self.folder / name
        self.recorder = subprocess.Popen(
            [self.sonde, "record", "-q", *options, "-o", str(self.trace), "--", "/usr/bin/python3",
             str(ROOT / "tests/programs" / program)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.addCleanup(self.end, self.recorder)
        self.assertEqual(self.recorder.stdout.readline(), "ready\n")

    def end(self, recorder=None):
        recorder = recorder or self.recorder
        if not recorder.stdin.closed:
            recorder.stdin.close()
        self.assertEqual(recorder.wait(LIMIT_SECONDS), 0)
        recorder.stdout.close()

    def work(self, name, count):
        self.recorder.stdin.write(f"{name} {count}\n")
        self.assertEqual(self.recorder.stdout.readline(), "done\n")

    def tell(self, verb, *words):
        return self.run_sonde(verb, *words, timeout=LIMIT_SECONDS).stdout

    def status(self):
        rows = self.ask("status")["recordings"]
        return next((row for row in rows if row["trace"] == str(self.trace)), None)

    def counts(self):
        rows = sql(self.trace, "select args, count(*), count(distinct tid) from api where apiName = 'UserMarker' group by 1")
        return {name: (count, threads) for name, count, threads in rows}

    def test_windows_hold_exactly_what_was_done_in_them(self):
        self.begin("--no-start")
        self.assertEqual(self.status()["state"], "waits for the program or sonde start")
        self.work("before", 30)
        self.assertEqual(self.tell("start", self.trace), f"{self.trace}: recording\n")
        self.work("first", 200)
        self.assertEqual(self.status()["state"], "recording, since sonde start")
        self.assertEqual(self.tell("stop", self.trace), f"{self.trace}: stopped\n")
        self.work("between", 300)
        self.assertEqual(self.status()["state"], "stopped, by sonde stop")
        self.tell("start", self.trace)
        self.work("second", 50)
        self.end()
        self.assertEqual(self.counts(), {"first": (200 * THREADS, THREADS), "second": (50 * THREADS, THREADS)})
        self.assertIsNone(self.status())

    # Each thread makes a marker a millisecond. Time that the machine gives to others is no delay of the switch, so
    # the best of several windows counts.
    def test_all_threads_record_within_50_ms_and_none_when_stop_has_returned(self):
        self.begin("--no-start", "--sample", "off", program="steady.py")
        windows = []
        for _ in range(6):
            asked = time.monotonic_ns()
            self.tell("start", self.trace)
            started = time.monotonic_ns()
            time.sleep(0.1)
            self.tell("stop", self.trace)
            windows.append((asked, started, time.monotonic_ns()))
            time.sleep(0.05)
        self.end()
        ticks = sql(self.trace, "select tid, start from rocpd_api order by start")
        delays = []
        for asked, started, stopped in windows:
            first = {}
            for thread, at in ticks:
                if asked <= at < stopped:
                    first.setdefault(thread, at)
            self.assertEqual(len(first), THREADS)
            self.assertLess(min(first.values()), started + 50e6)
            delays.append((max(first.values()) - min(first.values())) / 1e6)
        self.assertLess(min(delays), 50, f"ms, of all windows: {delays}")
        inside = sum(any(asked <= at < stopped for asked, _, stopped in windows) for _, at in ticks)
        self.assertEqual(inside, len(ticks), "recorded after sonde stop had returned")
        print(f"all threads within {min(delays):.1f} ms (of {len(windows)} windows, most {max(delays):.1f} ms)")

    def test_a_recording_that_runs_is_stopped_by_a_process_of_it(self):
        self.begin(name="a trace.rpd")
        self.work("first", 20)
        self.assertEqual(self.status()["state"], "recording")
        pid = self.status()["processes"].split()[0]
        self.tell("stop", pid)
        self.work("second", 20)
        self.tell("start", "a trace")
        self.work("third", 20)
        self.end()
        self.assertEqual(self.counts(), {"first": (20 * THREADS, THREADS), "third": (20 * THREADS, THREADS)})

    def test_marks_lie_between_what_was_done_before_and_behind_them(self):
        self.begin()
        self.work("first", 20)
        self.assertEqual(self.tell("mark", self.trace, "--text", "now\t\u00fc"), f"{self.trace}: marked\n")
        self.work("second", 20)
        self.assertEqual(self.tell("mark", self.trace.stem), f"{self.trace}: marked\n")
        self.end()
        times = {name: (first, last) for name, first, last in sql(
            self.trace, "select args, min(start), max(start) from api where apiName = 'UserMarker' group by 1")}
        self.assertEqual(list(times), ["first", "mark", "now\t\u00fc", "second"])
        self.assertLess(times["first"][1], times["now\t\u00fc"][0])
        self.assertLess(times["now\t\u00fc"][1], times["second"][0])
        self.assertLess(times["second"][1], times["mark"][0])

    def test_a_recording_that_waits_takes_marks_and_one_that_is_off_refuses_them(self):
        self.begin("--no-start")
        self.tell("mark", self.trace, "-t", "waiting")
        self.tell("stop", self.trace)
        made = self.run_sonde("mark", self.trace, status=1)
        self.assertEqual(made.stderr, f"sonde: {self.trace}: it is switched off, so the mark is not recorded "
                                      "(sonde start switches it on)\n")
        self.end()
        self.assertEqual(self.counts(), {"waiting": (1, 1)})

    def test_the_trace_says_that_it_was_switched(self):
        self.begin()
        self.tell("stop", self.trace)
        self.end()
        texts = sql(self.trace, "select text from sonde_diagnostic where source = 'record'")
        self.assertIn(("recording was switched off by sonde stop",), texts)

    def test_a_name_that_two_recordings_have_is_refused(self):
        self.begin("--no-start")
        first = self.trace
        (self.folder / "other").mkdir()
        self.begin("--no-start", name=f"other/{first.name}")
        made = self.run_sonde("start", self.trace.stem, status=2, cwd="/")
        self.assertIn(str(first), made.stderr)
        self.assertIn(str(self.trace), made.stderr)
        self.assertEqual(self.tell("start", self.trace), f"{self.trace}: recording\n")
        self.assertEqual(self.status()["state"], "recording, since sonde start")

    def test_what_is_not_being_recorded_is_named(self):
        self.begin()
        made = self.run_sonde("stop", "no-such-trace", status=1)
        self.assertEqual(made.stderr, "sonde: no-such-trace: no recording has this process or trace "
                                      "(sonde status lists them)\n")


if __name__ == "__main__":
    main()
