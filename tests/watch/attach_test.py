#!/usr/bin/python3
"""sonde record --pid: attach_test.py --sonde PATH --programs FOLDER [--rounds N] [unittest options].

What is attached to must not notice: no call of it ends early, its results are right, and afterwards it has the
signals, descriptors and threads that it had. The programs count what goes wrong themselves.
"""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from attach_case import LIMIT_SECONDS, AttachCase  # noqa: E402
from tool_case import main, take  # noqa: E402

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
ended, wrong, begun = threading.Event(), [], threading.Barrier(3)
def work():
    ones = torch.ones(64, 64)
    ones @ ones  # opens files the first time
    begun.wait()
    while not ended.is_set():
        with torch.autograd.profiler.record_function("product"):
            if not torch.equal(ones @ ones, torch.full((64, 64), 64.0)):
                wrong.append(1)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
begun.wait()
print("ready", flush=True)
sys.stdin.read()
ended.set()
for thread in threads:
    thread.join()
print(f"1 interrupted=0 wrong={len(wrong)}")
"""
COMPUTING = "print('ready', flush=True)\nwhile True:\n    pass\n"


class Attach(AttachCase):
    rounds = 3

    def start_opencl(self):
        if not (self.programs / "cl_attached").exists():
            self.skipTest("needs cl_attached")
        self.start(self.programs / "cl_attached")

    def start_torch(self):
        if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode:
            self.skipTest("needs PyTorch")
        self.start("/usr/bin/python3", "-c", TORCH)

    def start_on_softgpu(self, name):
        softgpu, program = self.programs.parents[1] / "bin/softgpu", self.programs / name
        if not softgpu.exists() or not program.exists():
            self.skipTest(f"needs softgpu and {name}")
        self.start(softgpu, "--", program)
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        [self.pid] = [int(child) for child in children if os.readlink(f"/proc/{child}/exe") == str(program)]

    def test_a_program_in_c_is_sampled_and_does_not_notice(self):
        self.start(self.programs / "attached")
        before = self.seen()
        self.record("--duration", "1500ms")
        self.assertEqual(self.seen(), before)
        names = self.samples_in()
        self.assertGreater(names.get("busy_in_c", 0), 5, names)
        self.assertGreater(names.get("busy_in_a_new_thread", 0), 0, names)  # of threads that began after the attach
        self.assertGreater(self.sql("select count(*) from rocpd_monitor")[0][0], 10)
        self.assertEqual(self.sql("select value from rocpd_metadata where tag = 'sonde::command'"),
                         [(str(self.programs / "attached"),)])
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

    def test_a_single_thread_goes_on_waiting_in_the_call_that_it_is_taken_from(self):
        """Calls that Linux lets fail with EINTR after a stop, though no signal came."""
        for kind in ("epoll_wait", "epoll_wait_timeout", "epoll_pwait", "epoll_pwait2", "sigtimedwait", "recv",
                     "recvmsg", "read"):
            with self.subTest(kind):
                self.start(self.programs / "attached_waits", kind)
                _, *before = self.seen()
                for number in range(2):
                    text = self.record("--duration", "500ms", name=f"{kind}{number}.rpd")
                    self.assertIn("recorded: metrics, call stacks\n", text)
                    _, *after = self.seen()  # libc keeps a handler for its signal 33 from the first thread on
                    self.assertEqual(after, before)
                    self.assertGreater(self.sql("select count(*) from rocpd_monitor")[0][0], 0)
                self.end()

    def test_a_thread_in_a_long_wait_is_taken_from_it_twice(self):
        """The second time the wait has become Linux's restart_syscall."""
        self.start("/usr/bin/python3", "-c", "import select\nprint('ready', flush=True)\npoll = select.poll()\n"
                   "poll.register(0)\npoll.poll(60000)\nprint('1 interrupted=0 wrong=0')")
        for number in range(2):
            text = self.record("--duration", "300ms", name=f"long{number}.rpd")
            self.assertIn("recorded: metrics, call stacks", text)
        self.end()

    def test_a_thread_that_only_waits_has_samples_where_it_computes(self):
        self.start(self.programs / "attached_waits", "epoll_wait_timeout")
        self.record("--duration", "1500ms")
        self.assertGreater(self.samples_in().get("busy_between_waits", 0), 0)
        self.end()

    def test_markers_are_recorded_without_a_gap(self):
        for program in "roctx_client", "roctx_client_now":
            self.start(self.programs / program)
            before = self.seen()
            for number in range(2):
                text = self.record_steps(name=f"{program}{number}.rpd")
                self.assertRegex(text, "recorded: .*, markers of ROCTX")
                self.assertEqual(self.seen(), before)
                for thread in "01":
                    steps = [int(text.split("-")[0]) for text, in self.sql(
                        f"select args from api where apiName = 'UserMarker' and args like '%-{thread}' order by start")]
                    self.assertGreaterEqual(len(steps), 20, text)
                    self.assertEqual(steps, list(range(steps[0], steps[0] + len(steps))))
                [(moments, outer)] = self.sql("select sum(args = 'moment'), sum(args = 'outer') from api")
                self.assertGreater(moments, 20)
                self.assertEqual(outer, 0)  # it began before
            self.end()

    def steps_of(self, api, thread):
        return [int(text.split()[1].split("-")[0]) for text, in self.sql(
            f"select args from api where apiName = 'UserMarker' and args like '{api} %-{thread}' order by start")]

    def test_markers_that_are_parts_of_the_program_are_recorded_without_a_gap(self):
        self.start(self.programs / "attached_marks")
        before = self.seen()
        for number in range(2):
            text = self.record_steps("--sample", "off", name=f"{number}.rpd")
            self.assertIn("recorded: metrics, markers of sonde.h, markers of NVTX, markers of ITT\n", text)
            self.assertEqual(self.seen(), before)
            for thread in "01":
                for api in "sonde", "nvtx", "itt":
                    steps = self.steps_of(api, thread)
                    self.assertGreaterEqual(len(steps), 20, (api, thread, text))
                    self.assertEqual(steps, list(range(steps[0], steps[0] + len(steps))), (api, thread))
            [(moments, outer)] = self.sql("select sum(args = 'moment'), sum(args = 'before') from api")
            self.assertGreater(moments, 10)
            self.assertEqual(outer, 0)  # it was before
        self.end()

    def test_the_duration_is_of_the_recording_not_of_the_joining_before_it(self):
        slow = self.programs.parent / "fakes/libslow_loading.so"  # takes a second
        self.start("env", f"LD_AUDIT={slow}", self.programs / "attached_marks")
        self.record("--duration", "600ms", "--sample", "off")
        [(first, last)] = self.sql("select min(start), max(start) from api where args = 'moment'")
        self.assertGreater(last - first, 300_000_000)
        self.end()

    def test_calls_copies_and_new_queues_of_hsa_are_recorded(self):
        self.start_on_softgpu("hsa_attached")
        before = self.seen()
        done = 0
        for number in range(50):  # twice; more often on a machine so busy that no queue was made
            text = self.record("--duration", "1500ms", "--sample", "off", name=f"{number}.rpd")
            self.assertIn("recorded: metrics, calls and copies of HSA, kernels of queues created from now on\n", text)
            self.assertIn("not recorded: kernels of existing HSA queues: ", text)
            self.assert_seen_soon(before)
            calls = dict(self.sql("select apiName, count(*) from api group by 1"))
            ops = dict(self.sql("select opType || ' ' || description, count(*) from op group by 1"))
            copies = sum(count for name, count in ops.items() if name.startswith("Copy"))
            # The last of each thread may end when the recording is over.
            self.assertLessEqual(abs(copies - calls.get("hsa_amd_memory_async_copy", 0)), 4, (ops, calls))
            self.assertLessEqual({name for name in ops if name.startswith("Kernel")}, {"KernelExecution hsa_add"})
            [(bad,)] = self.sql("select count(*) from rocpd_op where start <= 0 or end < start")
            self.assertEqual(bad, 0)
            done += copies > 0 and calls.get("hsa_queue_create", 0) > 0 and ops.get("KernelExecution hsa_add", 0) > 0
            if done == 2:
                break
        self.assertEqual(done, 2)
        self.end()

    def test_calls_and_new_queues_of_opencl_are_recorded(self):
        self.start_opencl()
        before = self.seen()
        done = 0
        for number in range(50):  # twice, likewise
            text = self.record("--duration", "900ms", "--sample", "off", name=f"{number}.rpd")
            self.assertIn("recorded: metrics, calls of OpenCL, operations of OpenCL queues created from now on\n", text)
            self.assertEqual(self.seen(), before)
            calls = dict(self.sql("select apiName, count(*) from api group by 1"))
            ops = dict(self.sql("select opType || ' ' || description, count(*) from op group by 1"))
            self.assertLessEqual(set(ops), {"KernelExecution add", "CopyDeviceToHost "})
            [(bad,)] = self.sql("select count(*) from rocpd_op where start <= 0 or end < start")
            self.assertEqual(bad, 0)
            made = [calls.get(name, 0) > 0 for name in
                    ("clCreateCommandQueue", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer")]
            done += all(made) and len(ops) == 2
            if done == 2:
                break
        self.assertEqual(done, 2)
        self.end()

    def test_calls_and_operations_of_hip_are_recorded(self):
        self.start_on_softgpu("hip_attached")
        before = self.seen()
        for number in range(2):
            text = self.record("--duration", "1500ms", name=f"{number}.rpd")
            self.assertIn("calls and operations of HIP", text)
            self.assertIn("not recorded: calls of HSA: ", text)
            self.assertEqual(self.seen(), before)
            calls = dict(self.sql("select apiName, count(*) from api group by 1"))
            linked = dict(self.sql(
                "select a.apiName, count(*) from rocpd_api_ops j join api a on a.id = j.api_id group by 1"))
            self.assertGreater(calls["hipLaunchKernel"], 20)
            self.assertGreater(calls.get("hipStreamCreate", 0), 0)  # whose queues are new
            # The last of each thread may end when the recording is over; one of four launches two kernels at a time.
            for name, most in ("hipLaunchKernel", 5), ("hipMemcpyAsync", 3):
                self.assertGreaterEqual(linked[name], calls[name] - most)
            self.assertEqual(set(linked), {"hipLaunchKernel", "hipMemcpyAsync"})
            [(threads,)] = self.sql("select count(distinct tid) from api where apiName = 'hipLaunchKernel'")
            self.assertEqual(threads, 4)
        self.end()

    def test_operators_and_scopes_of_pytorch_are_recorded(self):
        if not (Path(self.sonde).parents[1] / "lib/sonde/libsonde-torch.so").exists():
            self.skipTest("needs libtorch's headers")
        self.start_torch()
        before = self.seen()
        done = 0
        for number in range(50):  # twice; more often on a machine so busy that a thread did not run
            text = self.record("--duration", "500ms", "--sample", "off", name=f"{number}.rpd")
            # Libraries of PyTorch have copies of ITT.
            self.assertRegex(text, "recorded: metrics, (markers of ITT, )?operators of PyTorch\n")
            self.assertEqual(self.seen(), before)
            rows = self.sql("select tid, apiName, args, count(*) from api group by 1, 2, 3")
            threads = {row[0] for row in rows if row[1] == "UserMarker"}
            done += len(threads) == 2
            if done == 2:
                break
        self.assertEqual(done, 2)
        for thread in threads:
            counts = {name: sum(row[3] for row in rows if row[:2] == (thread, name))
                      for name in ("aten::mm", "aten::equal", "UserMarker")}
            self.assertLessEqual(max(counts.values()) - min(counts.values()), 1, counts)
        # One that has not ended has no arguments yet.
        self.assertLessEqual({row[2] for row in rows if row[1] == "aten::mm"},
                             {'{"Input Dims":[[64,64],[64,64]],"Input type":["float","float"],"Sequence number":0,'
                              '"Fwd thread id":0}', ""})
        self.assertEqual({row[2] for row in rows if row[1] == "UserMarker"}, {"product"})
        self.end()

    def assert_seen_soon(self, before, message=""):
        """Of a program that fills queues of HSA: one that was made meanwhile has a thread while it is full."""
        limit = time.monotonic() + LIMIT_SECONDS
        while (seen := self.seen()) != before and time.monotonic() < limit:
            time.sleep(0.01)
        self.assertEqual(seen, before, message)

    def memory_kb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())[1])

    def again_and_again(self, makes_queues=False):
        """Nothing is left from one time to the next, memory included once what stays is there."""
        before = self.seen()
        first = 0
        for number in range(self.rounds):
            self.record("-q", "--metrics", "off", "--duration", "150ms", name=f"{number}.rpd")
            self.assertIsNone(self.process.poll(), f"it has ended in round {number}")
            if makes_queues:
                self.assert_seen_soon(before, f"round {number}")
            else:
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
        self.start_on_softgpu("hip_attached")
        self.again_and_again()

    def test_again_and_again_hsa(self):
        self.start_on_softgpu("hsa_attached")
        self.again_and_again(makes_queues=True)

    def test_again_and_again_opencl(self):
        self.start_opencl()
        self.again_and_again()

    def test_again_and_again_marks(self):
        self.start(self.programs / "attached_marks")
        self.again_and_again()

    def test_again_and_again_python(self):
        self.start("/usr/bin/python3", "-c", PYTHON)
        self.again_and_again()

    def test_again_and_again_torch(self):
        if self.rounds <= 20:
            self.skipTest("one for longer runs: --rounds 50")
        self.start_torch()
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
        self.run_sonde("recover", session)
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
        self.assertIn("none of its threads came to wait in a system call", text)
        self.assertGreater(self.sql("select count(*) from rocpd_monitor")[0][0], 0)
        self.kill(self.process)
        made = self.run_sonde("record", "--pid", "1999999999", status=1)
        self.assertIn("cannot be attached to: No such process", made.stderr)
        made = self.run_sonde("record", "--pid", "1", "--", "true", status=None)
        self.assertIn("--pid and a command: cannot be combined", made.stderr)
        ended = os.fork()
        if ended == 0:
            os._exit(0)
        self.pid = ended  # and its status has not been collected yet
        time.sleep(0.1)
        self.assertIn("it has ended", self.record("--duration", "100ms", name="ended.rpd"))
        os.waitpid(ended, 0)


if __name__ == "__main__":
    Attach.programs = Path(take("--programs")).resolve()
    Attach.rounds = int(take("--rounds", 3))
    main()
