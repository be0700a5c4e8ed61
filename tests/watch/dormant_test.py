#!/usr/bin/python3
"""Threads that begin while a recording waits (sonde record --no-start): dormant_test.py --sonde PATH --programs FOLDER [unittest options].

What their start costs is compared in system calls with the program alone; that they are sampled afterwards, in
CPU time, of which the program burns a known amount.
"""
import collections
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from tool_case import ToolCase, main, sql, take  # noqa: E402

THREADS = 3
BURN_MS = 150
LIMIT_SECONDS = 120


class Dormant(ToolCase):
    programs = ""

    def setUp(self):
        super().setUp()
        self.trace = self.folder / "t.rpd"

    def recorded(self, *options):
        return [self.sonde, "record", "-q", *options, "--metrics", "off", "-o", self.trace, "--"]

    def program(self, *words):
        return [Path(self.programs) / "late_threads", *map(str, words)]

    def output(self, command):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, timeout=LIMIT_SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def steer(self, *told):
        """Each thread burns before, and after what is told: milliseconds of its CPU time that are sampled, by name."""
        with subprocess.Popen(list(map(str, [*self.recorded("--no-start"), *self.program("stay", THREADS)])),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as recorder:
            def ask(line):
                recorder.stdin.write(f"{line}\n")
                self.assertEqual(recorder.stdout.readline(), "done\n")
            self.assertEqual(recorder.stdout.readline(), "ready\n")
            ask(BURN_MS)
            for one in told:
                if one == "on":
                    ask("on")
                else:
                    self.run_sonde(one, self.trace, timeout=LIMIT_SECONDS)
            ask(BURN_MS)
            recorder.stdin.close()
            self.assertEqual(recorder.wait(LIMIT_SECONDS), 0)
        return dict(sql(self.trace,
                        "select t.name, sum(s.cpu_ns) / 1e6 from sonde_sample s join sonde_thread t "
                        "on t.process_id = s.process_id and t.tid = s.tid where t.name like 'late-%' group by t.tid"))

    def look_at(self, sampled):
        self.assertEqual(sorted(sampled), [f"late-{i}" for i in range(THREADS)])
        # What was burnt before is not in it; the last sample is some 10 ms, or two, before the end.
        for name, ms in sampled.items():
            self.assertTrue(BURN_MS / 2 < ms < BURN_MS * 1.5, f"{name}: {ms} ms of {BURN_MS}")

    def test_they_are_sampled_when_sonde_start_says_so(self):
        self.look_at(self.steer("start"))

    def test_they_are_sampled_when_the_program_says_so(self):
        self.look_at(self.steer("on"))

    def test_they_are_sampled_in_a_second_window(self):
        self.look_at(self.steer("start", "stop", "start"))

    def test_they_are_not_when_it_was_stopped_again(self):
        self.assertEqual(self.steer("start", "stop"), {})

    def calls(self, *before):
        """How often each system call was made by threads that the program began, 20 of which it begins."""
        log = self.folder / "calls"
        self.output([*before, "strace", "-f", "-o", log, *self.program("begin", 20)])
        counts = collections.defaultdict(collections.Counter)
        for thread, call in re.findall(r"^(\d+) +(\w+)\(", log.read_text(), re.M):
            counts[thread][call] += 1
        # Ours, which has a name, ends with the process or when it has nothing to do for a second.
        names = dict(re.findall(r'^(\d+) +prctl\(PR_SET_NAME, "([^"]+)"', log.read_text(), re.M))
        began = [count for thread, count in counts.items() if "exit" in count and thread not in names]
        self.assertEqual(len(began), 20)
        return sum(began, collections.Counter())

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_the_start_of_one_takes_two_system_calls_more(self):
        alone, dormant = self.calls(), self.calls(*self.recorded("--no-start"))
        alone.pop("madvise", None)  # of a stack that was used: now and then
        dormant.pop("madvise", None)
        self.assertEqual(dormant - alone, {"sigaltstack": 40})
        # The test can fail.
        self.assertEqual(self.calls(*self.recorded())["timer_create"], 20)

    def test_a_program_that_forks_later_has_its_own_threads_only(self):
        self.assertEqual(self.output(self.program("fork")), "threads 1\n")
        self.assertEqual(self.output([*self.recorded("--no-start"), *self.program("fork")]), "threads 1\n")

    def test_a_program_of_one_thread_gets_a_namespace(self):
        alone = self.output(self.program("unshare"))
        self.assertEqual(self.output([*self.recorded("--no-start"), *self.program("unshare")]), alone)

    def test_a_program_whose_main_thread_leaves_ends_with_the_last(self):
        for options in (["--no-start"], ["--sample-clock", "wall"], ["--no-start", "--sample-clock", "wall"]):
            with self.subTest(options=options):
                self.assertEqual(self.output([*self.recorded(*options), *self.program("leave")]), "last\n")


if __name__ == "__main__":
    Dormant.programs = take("--programs")
    main()
