#!/usr/bin/python3
"""sonde record --pid: attach_test.py --sonde PATH --programs FOLDER [--rounds N] [unittest options].

What is attached to must not notice: no call of it ends early, its results are right, and afterwards it has the
signals, descriptors and threads that it had. The programs count what goes wrong themselves.
"""
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from tool_case import ToolCase, take_sonde  # noqa: E402

LIMIT_SECONDS = 120
PYTHON = """
import sys, threading, time
def burn(n):
    x = 0
    for i in range(n):
        x += i * i
    return x
def worker():
    while True:
        assert burn(20000) == 2666466670000
        time.sleep(0.0005)
for _ in range(2):
    threading.Thread(target=worker, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
print("1 interrupted=0 wrong=0")
"""
TORCH = """
import sys, threading
import torch
ended, wrong = threading.Event(), []
def work():
    ones = torch.ones(64, 64)
    while not ended.is_set():
        if not torch.equal(ones @ ones, torch.full((64, 64), 64.0)):
            wrong.append(1)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.read()
ended.set()
for thread in threads:
    thread.join()
print(f"1 interrupted=0 wrong={len(wrong)}")
"""
COMPUTING = "print('ready', flush=True)\nwhile True:\n    pass\n"


class Attach(ToolCase):
    sonde = ""
    programs = Path()
    rounds = 3

    def start(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.kill, self.process)
        self.assertEqual(self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid

    def start_hip(self):
        softgpu, program = self.programs.parents[1] / "bin/softgpu", self.programs / "hip_attached"
        if not softgpu.exists() or not program.exists():
            self.skipTest("needs softgpu and hipcc")
        self.start(softgpu, "--", program)
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        [self.pid] = [int(child) for child in children if os.readlink(f"/proc/{child}/exe") == str(program)]

    @staticmethod
    def kill(process):
        process.kill()
        process.wait()
        process.stdout.close()
        process.stdin.close()

    def end(self):
        self.process.stdin.close()
        self.assertEqual(self.process.stdout.read(), "1 interrupted=0 wrong=0\n")
        self.assertEqual(self.process.wait(LIMIT_SECONDS), 0)

    def record(self, *options, name="t.rpd", status=0):
        self.trace = self.folder / name
        made = subprocess.run([self.sonde, "record", "--pid", str(self.pid), "-o", str(self.trace), *options],
                              capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
                              env={**os.environ, "SONDE_SPOOL_DIR": str(self.folder)})
        self.assertEqual(made.returncode, status, made.stderr)
        self.assertEqual(list(self.folder.glob("sonde-*")), [])
        return made.stderr

    def sql(self, text):
        database = sqlite3.connect(f"file:{self.trace}?mode=ro", uri=True)
        try:
            return database.execute(text).fetchall()
        finally:
            database.close()

    def samples_in(self):
        """How many samples have each function somewhere in their stack."""
        return dict(self.sql(
            "with recursive up(sample, stack) as (select id, stack_id from sonde_sample union all "
            "select up.sample, k.parent_id from up join sonde_stack k on k.id = up.stack where k.parent_id is not null) "
            "select f.function, count(distinct up.sample) from up join sonde_stack k on k.id = up.stack "
            "join sonde_frame f on f.id = k.frame_id group by 1"))

    @staticmethod
    def link_of(path):
        try:
            return os.readlink(path)
        except OSError:
            return None  # it was closed just now

    def seen(self):
        """What the process has of signals and descriptors; its threads are its own affair but for ours."""
        proc = Path(f"/proc/{self.pid}")
        signals = re.findall(r"Sig(?:Blk|Ign|Cgt):.*", (proc / "status").read_text())
        files = sorted(filter(None, map(self.link_of, (proc / "fd").iterdir())))
        ours = []
        for task in (proc / "task").iterdir():
            try:
                ours += [name for name in [(task / "comm").read_text()] if name.startswith("sonde")]
            except OSError:
                pass  # it has ended
        return signals, files, ours

    def test_a_program_in_c_is_sampled_and_does_not_notice(self):
        self.start(self.programs / "attached")
        before = self.seen()
        self.record("--duration", "1500ms")
        self.assertEqual(self.seen(), before)
        names = self.samples_in()
        self.assertGreater(names.get("busy_in_c", 0), 5, names)
        self.assertGreater(names.get("busy_in_a_new_thread", 0), 0, names)  # of threads that began after the attach
        self.assertGreater(self.sql("select count(*) from rocpd_monitor")[0][0], 10)
        self.end()

    def test_a_python_server_is_sampled_by_line(self):
        self.start("/usr/bin/python3", "-c", PYTHON)
        before = self.seen()
        self.record("--duration", "1500ms")
        self.assertEqual(self.seen(), before)
        names = self.samples_in()
        [(count,)] = self.sql("select count(*) from sonde_sample")
        self.assertGreater(names.get("burn", 0), max(5, count / 2), names)
        self.end()

    def test_markers_are_recorded_without_a_gap(self):
        for program in "roctx_client", "roctx_client_now":
            self.start(self.programs / program)
            before = self.seen()
            for number in range(2):
                text = self.record("--duration", "300ms", name=f"{program}{number}.rpd")
                self.assertRegex(text, "recorded: .*, markers of ROCTX")
                self.assertEqual(self.seen(), before)
                for thread in "01":
                    steps = [int(text.split("-")[0]) for text, in self.sql(
                        f"select args from api where apiName = 'UserMarker' and args like '%-{thread}' order by start")]
                    self.assertGreater(len(steps), 10)
                    self.assertEqual(steps, list(range(steps[0], steps[0] + len(steps))))
                [(moments, outer)] = self.sql("select sum(args = 'moment'), sum(args = 'outer') from api")
                self.assertGreater(moments, 20)
                self.assertEqual(outer, 0)  # it began before
            self.end()

    def test_calls_and_operations_of_hip_are_recorded(self):
        self.start_hip()
        before = self.seen()
        for number in range(2):
            text = self.record("--duration", "700ms", name=f"{number}.rpd")
            self.assertIn("calls and operations of HIP", text)
            self.assertIn("not recorded: calls of HSA", text)
            self.assertEqual(self.seen(), before)
            calls = dict(self.sql("select apiName, count(*) from api group by 1"))
            linked = dict(self.sql(
                "select a.apiName, count(*) from rocpd_api_ops j join api a on a.id = j.api_id group by 1"))
            self.assertGreater(calls["hipLaunchKernel"], 20)
            self.assertGreater(calls.get("hipStreamCreate", 0), 0)  # whose queues are new
            # The last of each thread may end when nobody listens any more.
            for name in "hipLaunchKernel", "hipMemcpyAsync":
                self.assertGreaterEqual(linked[name], calls[name] - 3)
            self.assertEqual(set(linked), {"hipLaunchKernel", "hipMemcpyAsync"})
            [(threads,)] = self.sql("select count(distinct tid) from api where apiName = 'hipLaunchKernel'")
            self.assertEqual(threads, 3)
        self.end()

    def memory_kb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())[1])

    def again_and_again(self):
        """Nothing is left from one time to the next, memory included once what stays is there."""
        before = self.seen()
        first = 0
        for number in range(self.rounds):
            self.record("-q", "--metrics", "off", "--duration", "150ms", name=f"{number}.rpd")
            self.assertIsNone(self.process.poll(), f"it has ended in round {number}")
            self.assertEqual(self.seen(), before, f"round {number}")
            if number == 4:
                first = self.memory_kb()
        grown = self.memory_kb() - first
        if self.rounds > 20:
            print(f"{self.id().rsplit('.', 1)[1]}: {self.rounds} times, {first} KB grown by {grown} KB")
            self.assertLess(grown, 20_000)
        self.end()

    def test_again_and_again_under_load(self):
        self.start(self.programs / "attached")
        self.again_and_again()

    def test_again_and_again_hip(self):
        self.start_hip()
        self.again_and_again()

    def test_again_and_again_python(self):
        self.start("/usr/bin/python3", "-c", PYTHON)
        self.again_and_again()

    def test_again_and_again_torch(self):
        if self.rounds <= 20:
            self.skipTest("one for longer runs: --rounds 50")
        if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode:
            self.skipTest("needs PyTorch")
        self.start("/usr/bin/python3", "-c", TORCH)
        self.again_and_again()

    def test_interrupted_and_killed_recorders_let_go(self):
        self.start(self.programs / "attached")
        before = self.seen()
        for number, ends in enumerate([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]):
            trace = self.folder / f"{number}.rpd"
            recorder = subprocess.Popen([self.sonde, "record", "-q", "--pid", str(self.pid), "-o", str(trace)],
                                        env={**os.environ, "SONDE_SPOOL_DIR": str(self.folder)})
            while not self.seen()[2]:
                time.sleep(0.02)
            time.sleep(0.3)
            recorder.send_signal(ends)
            recorder.wait(LIMIT_SECONDS)
            limit = time.monotonic() + LIMIT_SECONDS
            while self.seen() != before and time.monotonic() < limit:
                time.sleep(0.02)
            self.assertEqual(self.seen(), before)
        [session] = self.folder.glob("sonde-*")
        made = subprocess.run([self.sonde, "recover", str(session)], capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.end()

    def test_the_end_of_the_process_ends_the_recording(self):
        self.start(self.programs / "attached")
        recorder = subprocess.Popen([self.sonde, "record", "-q", "--pid", str(self.pid), "-o",
                                     str(self.folder / "t.rpd")])
        while not self.seen()[2]:
            time.sleep(0.02)
        time.sleep(0.2)
        self.end()
        self.assertEqual(recorder.wait(LIMIT_SECONDS), 0)
        self.trace = self.folder / "t.rpd"
        self.assertEqual(self.sql("select exit from sonde_process"), [("ended",)])

    def test_what_cannot_be_had_is_said(self):
        self.start("/usr/bin/python3", "-c", COMPUTING)
        text = self.record("--duration", "200ms")
        self.assertIn("metrics only, no call stacks, calls or markers:", text)
        self.assertIn("no thread of it came to wait in a system call", text)
        self.assertGreater(self.sql("select count(*) from rocpd_monitor")[0][0], 0)
        self.kill(self.process)
        made = subprocess.run([self.sonde, "record", "--pid", "1999999999"], capture_output=True, text=True, check=False)
        self.assertEqual(made.returncode, 1)
        self.assertIn("cannot be attached to: No such process", made.stderr)
        made = subprocess.run([self.sonde, "record", "--pid", "1", "--", "true"], capture_output=True, text=True, check=False)
        self.assertIn("--pid and a command: cannot be combined", made.stderr)
        ended = os.fork()
        if ended == 0:
            os._exit(0)
        self.pid = ended  # and nobody has asked for its status yet
        time.sleep(0.1)
        self.assertIn("it has ended", self.record("--duration", "100ms", name="ended.rpd"))
        os.waitpid(ended, 0)


def take(option, fallback=None):
    if option not in sys.argv:
        return fallback
    at = sys.argv.index(option)
    _, value = sys.argv[at:at + 2]
    del sys.argv[at:at + 2]
    return value


if __name__ == "__main__":
    Attach.sonde = take_sonde()
    Attach.programs = Path(take("--programs")).resolve()
    Attach.rounds = int(take("--rounds", 3))
    unittest.main()
