#!/usr/bin/python3
"""sonde record --rotate, --keep, --last, --period and sonde snapshot:
rotate_test.py --sonde PATH --storm PROGRAM [unittest options].

The storm numbers its launches and operations in each thread and counts what it has seen end, so an operation
that is lost, stored twice or linked to another's call where one file ends and the next begins shows.
"""
import mmap
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from tool_case import ToolCase, main, sql, take  # noqa: E402

THREADS = 3
LIMIT_SECONDS = 120


class Rotated(ToolCase):
    storm = ""

    def start(self, *options, under=()):
        self.board = self.folder / "progress"
        self.board.write_bytes(bytes(8 * (THREADS + 2)))
        self.base = self.folder / "t.rpd"
        self.recorder = subprocess.Popen(
            [*under, self.sonde, "record", "-q", "--metrics", "off", *options, "-o", str(self.base), "--", self.storm,
             str(self.board), str(THREADS)], stdin=subprocess.DEVNULL)
        self.addCleanup(self.stop)

    def tell_the_storm_to_end(self):
        with open(self.board, "r+b") as file, mmap.mmap(file.fileno(), 0) as words:
            words[8 * (THREADS + 1):] = struct.pack("Q", 1)

    def stop(self):
        self.tell_the_storm_to_end()
        self.assertEqual(self.recorder.wait(LIMIT_SECONDS), 0)

    def counted(self):
        return sum(struct.unpack_from(f"{THREADS}Q", self.board.read_bytes()))

    def parts(self):
        return sorted(self.folder.glob("t.[0-9]*.rpd"))

    def wait_for(self, what):
        end = time.monotonic() + LIMIT_SECONDS
        while not what():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)

    def run_tool(self, *words, status=0):
        made = self.run_sonde(*words, status=status, timeout=LIMIT_SECONDS)
        return made.stdout if status == 0 else made.stderr

    def check_links(self, path):
        """Each operation has one call: that of its own thread with its own number."""
        wrong = sql(path, """
            select count(*) from rocpd_op o left join rocpd_api_ops l on l.op_id = o.id
            left join sonde_op_detail d on d.op_id = o.id left join rocpd_api a on a.id = l.api_id
            left join rocpd_ustring u on u.id = a.args_id
            where a.id is null or d.api_id is not a.id or u.string is not 'n = ' || (d.bytes - 1)""")
        self.assertEqual(wrong, [(0,)])

    def test_nothing_is_lost_or_twice_where_a_part_ends(self):
        self.start("--rotate", "1s")
        self.wait_for(lambda: len(self.parts()) >= 3)
        self.stop()
        parts = self.parts()
        self.assertEqual([part.name for part in parts], [f"t.{i:04}.rpd" for i in range(1, len(parts) + 1)])
        ops = [sql(part, "select count(*) from rocpd_op")[0][0] for part in parts]
        self.assertEqual(sum(ops), self.counted())
        self.assertGreater(min(ops[:-1]), 0)
        apis = [sql(part, "select count(*) from rocpd_api")[0][0] for part in parts]
        self.assertEqual(sum(apis), self.counted())
        for part, calls in zip(parts, apis):  # the last may have begun just before the program's end
            self.check_links(part)
            self.assertEqual(sql(part, "pragma integrity_check"), [("ok",)])
            self.assertEqual(sql(part, "select count(*) from sonde_ingest"), [(0,)])
            self.assertIn("storm" if calls else "No API calls", self.run_tool("api", part))
            self.run_tool("check", part)
        lines = self.run_tool("merge", *parts, "-o", "joined.rpd")
        self.assertIn(f"from {len(parts)} parts of one recording", lines)
        joined = self.folder / "joined.rpd"
        self.check_links(joined)
        self.assertEqual(sql(joined, "select count(*) from rocpd_op"), [(self.counted(),)])
        numbers = sql(joined, "select count(distinct o.description_id || ' ' || d.bytes) from rocpd_op o "
                                   "join sonde_op_detail d on d.op_id = o.id")
        self.assertEqual(numbers, [(self.counted(),)])
        self.assertEqual(sql(joined, "select count(*), max(exit) from sonde_process"), [(1, "exit 0")])
        self.assertEqual(len(sql(joined, "select distinct tid from rocpd_api")), THREADS)
        names = "select tid, count(*) from sonde_thread group by 1 having count(*) > 1"
        self.assertEqual(sql(joined, names), [])

    def test_only_the_newest_are_kept(self):
        self.start("--rotate", "1s", "--keep", "2")
        self.wait_for(lambda: (self.folder / "t.0005.rpd").exists())
        self.stop()
        parts = self.parts()
        self.assertEqual(len(parts), 3)  # and the one that the end of the program ended
        self.assertFalse((self.folder / "t.0001.rpd").exists())
        joined = self.folder / "joined.rpd"
        self.run_tool("merge", *parts, "-o", joined)
        self.check_links(joined)

    def test_the_end_is_kept_and_a_snapshot_is_what_was_before_it(self):
        self.start("--last", "3s")
        self.wait_for(lambda: len(self.parts()) >= 2)
        before = self.counted()
        self.assertIn("t.snapshot.rpd: the last 3.00 s of", self.run_tool("snapshot", self.base))
        snapshot = self.folder / "t.snapshot.rpd"
        self.check_links(snapshot)
        self.assertGreater(sql(snapshot, "select count(*) from rocpd_op")[0][0], 0)
        self.assertGreater(self.counted(), before)
        self.wait_for(lambda: (self.folder / "t.0007.rpd").exists())
        self.stop()
        self.assertEqual(self.parts(), [])
        [(first, last, count)] = sql(self.base, "select min(start), max(end), count(*) from rocpd_op")
        self.assertGreater(last - first, 1_500_000_000)
        self.assertLessEqual(last - first, 3_000_000_000)
        self.assertLess(count, self.counted())
        self.check_links(self.base)

    def test_a_signal_or_a_finding_writes_a_snapshot_and_the_recording_goes_on(self):
        snapshots = lambda: sorted(self.folder.glob("t.snapshot*.rpd"))
        self.start("--last", "6s", "--trigger", "signal:USR2,finding:any")
        self.wait_for(lambda: len(self.parts()) >= 2)
        before = len(snapshots())
        self.recorder.send_signal(signal.SIGUSR2)
        self.wait_for(lambda: len(snapshots()) > before)
        self.wait_for(lambda: len(snapshots()) >= 2)  # the storm has many short operations, which is a finding
        self.stop()
        self.assertTrue(self.base.exists())
        self.assertEqual(self.parts(), [])
        self.assertEqual(list(self.folder.glob("*looked-at*")), [])
        for snapshot in snapshots():
            self.check_links(snapshot)
            self.assertGreater(sql(snapshot, "select count(*) from rocpd_op")[0][0], 0)

    def test_a_signal_that_the_program_catches_is_the_programs(self):
        program = ("import signal, time; signal.signal(signal.SIGUSR1, lambda *_: exit(7)); "
                   "print('ready', flush=True); time.sleep(60)")
        with subprocess.Popen([self.sonde, "record", "-q", "--last", "6s", "--trigger", "signal:USR1", "-o",
                               str(self.folder / "t.rpd"), "--", "/usr/bin/python3", "-c", program],
                              stdout=subprocess.PIPE, text=True) as recorder:
            self.assertEqual(recorder.stdout.readline(), "ready\n")
            recorder.send_signal(signal.SIGUSR1)
            self.assertEqual(recorder.wait(LIMIT_SECONDS), 7)
        self.assertEqual([path.name for path in self.folder.glob("*.rpd")], ["t.rpd"])

    def kill_and_recover(self):
        self.recorder.kill()
        self.recorder.wait(LIMIT_SECONDS)
        self.tell_the_storm_to_end()
        [session] = self.folder.glob("sonde-*")
        pid = struct.unpack_from("Q", self.board.read_bytes(), 8 * THREADS)[0]
        self.wait_for(lambda: not Path(f"/proc/{pid}").exists())
        self.run_tool("recover", session)
        self.recorder.returncode = 0
        parts = self.parts()
        self.run_tool("merge", *parts, "-o", "joined.rpd")
        self.check_links(self.folder / "joined.rpd")
        self.assertEqual(sql(self.folder / "joined.rpd", "select count(*) from rocpd_op"), [(self.counted(),)])

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_a_recorder_that_is_killed_between_naming_a_part_and_ending_the_one_before(self):
        # The fifth, after those of two parts: of the file of the session that names the third.
        delays = ("strace", "-D", "-qq", "-o", str(self.folder / "calls"), "-e", "trace=rename", "-e",
                  "inject=rename:delay_exit=3000000:when=5")
        if subprocess.run([*delays, "true"], check=False).returncode != 0:
            self.skipTest("needs an strace that delays calls")
        self.start("--rotate", "1s", "--spool-dir", str(self.folder), under=delays)
        def named():
            return [path.read_text() for path in self.folder.glob("sonde-*/output")]
        self.wait_for(lambda: named() == [str(self.folder / "t.0003.rpd")])
        self.kill_and_recover()
        self.assertIn(len(self.parts()), (2, 3))  # 3 where the machine was too busy to kill it in time

    def test_a_recorder_that_is_killed_leaves_parts_that_are_whole_and_one_to_recover(self):
        self.start("--rotate", "1s", "--spool-dir", str(self.folder))
        self.wait_for(lambda: len(self.parts()) >= 3)
        self.kill_and_recover()

    def test_of_a_program_that_is_killed_each_part_has_all_that_it_had_seen_end(self):
        self.start("--rotate", "1s")
        self.wait_for(lambda: len(self.parts()) >= 2)
        os.kill(struct.unpack_from("Q", self.board.read_bytes(), 8 * THREADS)[0], signal.SIGKILL)
        self.assertEqual(self.recorder.wait(LIMIT_SECONDS), -signal.SIGKILL)
        self.recorder.returncode = 0
        parts = self.parts()
        self.run_tool("merge", *parts, "-o", "joined.rpd")
        self.check_links(self.folder / "joined.rpd")
        [(ops,)] = sql(self.folder / "joined.rpd", "select count(*) from rocpd_op")
        self.assertIn(ops - self.counted(), range(THREADS + 1))  # one that it was about to count
        self.assertEqual(sql(self.folder / "joined.rpd", "select exit from sonde_process"), [("signal 9",)])

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_a_snapshot_has_parts_that_are_deleted_while_it_is_made(self):
        self.start("--rotate", "1s", "--keep", "1")
        self.wait_for(lambda: len(self.parts()) >= 2)
        # Between finding the oldest part and reading it, for longer than that is kept.
        made = subprocess.run(["strace", "-f", "-o", self.folder / "calls", "-e", "trace=link,linkat", "-e",
                               "inject=link,linkat:delay_exit=2500000", self.sonde, "snapshot", self.base],
                              capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        if "inject" in made.stderr:
            self.skipTest("needs an strace that delays calls")
        self.assertEqual(made.returncode, 0, made.stderr)
        held = re.search(r't\.(\d+)\.rpd", .* = 0', (self.folder / "calls").read_text())[1]
        self.assertFalse((self.folder / f"t.{held}.rpd").exists())
        self.assertGreater(sql(self.folder / "t.snapshot.rpd", "select count(*) from rocpd_op")[0][0], 0)
        self.assertEqual(list(self.folder.glob(".t.*")), [])

    def test_periods_come_again(self):
        self.start("--period", "200ms:300ms:1s:3")
        time.sleep(4.5)
        self.stop()
        starts = [row[0] for row in sql(self.base, "select start from rocpd_op order by start")]
        [begin] = sql(self.base, "select start_ns from sonde_process")[0]
        windows = sorted({(start - begin) // 1_000_000_000 for start in starts})
        self.assertEqual(len(windows), 3, windows)
        gaps = sum(after - before > 400_000_000 for before, after in zip(starts, starts[1:]))
        self.assertEqual(gaps, 2)

    def test_what_makes_no_sense_is_named(self):
        for words, expected in ((("--trigger", "signal:USR2"), "without --last or --rotate"),
                                (("--last", "6s", "--trigger", "signal:KILL"), "is neither signal:USR1"),
                                (("--last", "6s", "--trigger", "finding:wait"), "no finding is called 'wait' (there are: any,")):
            self.assertIn(expected, self.run_tool("record", *words, "--", "true", status=2))
        def refused(*options, status=2):
            return self.run_tool("record", *options, "--", "/bin/true", status=status)
        self.assertIn("--keep without --rotate", refused("--keep", "3"))
        self.assertIn("--last and --rotate", refused("--last", "5s", "--rotate", "1s"))
        self.assertIn("less than a second", refused("--rotate", "5ms"))
        self.assertIn("--rotate: is not a time", refused("--rotate", "0"))
        self.assertIn("--last: is not a time", refused("--last", "0"))
        self.assertIn("'0' is not a valid value", refused("--rotate", "1s", "--keep", "0"))
        self.assertIn("/dev/null: is not a regular file; ", refused("--rotate", "1s", "-o", "/dev/null"))
        self.assertIn("DELAY:LENGTH:RATE", refused("--period", "1:2"))
        self.assertIn("DELAY:LENGTH:RATE", refused("--period", "1:5:2"))
        self.start()
        self.wait_for(lambda: self.base.exists() and self.counted() > 0)
        self.assertIn("goes into one file", self.run_tool("snapshot", self.base, status=1))


if __name__ == "__main__":
    Rotated.storm = os.path.abspath(take("--storm"))
    main()
