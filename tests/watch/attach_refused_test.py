#!/usr/bin/python3
"""Processes that sonde record --pid had better leave alone: attach_refused_test.py --sonde PATH --programs FOLDER.

Each is told in a line what it is, metrics are recorded where they can be, and the process goes on as before.
"""
import os
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
from attach_case import LIMIT_SECONDS, AttachCase  # noqa: E402
from tool_case import main, take  # noqa: E402

# Ends itself at the first call that is none of those that it makes: mmap, openat, clone.
SANDBOX = """
import ctypes, struct, sys, time
calls = [0, 1, 3, 5, 9, 11, 12, 13, 14, 15, 35, 60, 202, 228, 230, 231, 262]
calls.remove(9)
rules = struct.pack("HBBI", 0x20, 0, 0, 0)
for number in calls:
    rules += struct.pack("HBBIHBBI", 0x15, 0, 1, number, 0x06, 0, 0, 0x7fff0000)
rules += struct.pack("HBBI", 0x06, 0, 0, 0x80000000)
code = ctypes.create_string_buffer(rules)
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules) // 8, ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program) == 0
print("ready", flush=True)
sys.stdin.read(1)
print("1 interrupted=0 wrong=0", flush=True)
"""
# Each thread blocks all signals, and SIGSEGV has a handler.
HANDLER = """
import faulthandler, signal, sys, threading
faulthandler.enable()
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
threading.Thread(target=sys.stdin.buffer.raw.readable).start()  # libc takes a signal of its own for that
print("ready", flush=True)
sys.stdin.read(1)
print("1 interrupted=0 wrong=0", flush=True)
"""


def tiny_program(path, bits):
    """A static program: writes "ready\\n", and pauses."""
    if bits == 64:
        code = bytes.fromhex("b801000000" "bf01000000" "488d3510000000" "ba06000000" "0f05" "b822000000" "0f05" "ebf7")
        code = code + b"ready\n"
        header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01".ljust(16, b"\0"), 2, 62, 1, 0x400078, 64, 0, 0,
                             64, 56, 1, 64, 0, 0)
        header += struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 0x78 + len(code), 0x78 + len(code), 0x1000)
    else:
        text = 0x8048054 + 29
        code = (b"\xb8\x04\x00\x00\x00\xbb\x01\x00\x00\x00\xb9" + struct.pack("<I", text) +
                b"\xba\x06\x00\x00\x00\xcd\x80" + b"\xb8\x1d\x00\x00\x00\xcd\x80")
        code = (code + b"\xeb\xf7").ljust(29, b"\x90")[:29]
        code += b"ready\n"
        header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01".ljust(16, b"\0"), 2, 3, 1, 0x8048054, 52, 0, 0,
                             52, 32, 1, 40, 0, 0)
        header += struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 0x54 + len(code), 0x54 + len(code), 5, 0x1000)
    path.write_bytes(header + code)
    path.chmod(0o755)


class Refused(AttachCase):
    def state(self):
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2][0]

    def refused(self, why, number=0):
        """Metrics only, for this reason; nothing of the process is another than before."""
        before = self.seen(), self.state() == "T"
        text = self.record("--duration", "200ms", name=f"{number}.rpd")
        self.assertRegex(text, f"metrics only, no call stacks, calls or markers: .*{why}")
        self.assertEqual((self.seen(), self.state() == "T"), before)
        self.assertGreater(self.sql("select count(*) from rocpd_monitor")[0][0], 0)
        return text

    def child_of(self, process):
        deadline = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            if children:
                return int(children[0])
            time.sleep(0.02)
        raise AssertionError("it has no child")

    def test_one_that_is_stopped_stays_so_and_can_be_attached_to_when_it_goes_on(self):
        self.start(self.programs / "attached")
        os.kill(self.pid, signal.SIGSTOP)
        while self.state() != "T":
            time.sleep(0.02)
        self.refused("it is stopped .*kill -CONT")
        os.kill(self.pid, signal.SIGCONT)
        self.assertIn("recorded: metrics, call stacks", self.record("--duration", "300ms"))
        self.end()

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_one_that_is_traced_stays_with_its_tracer(self):
        self.start("strace", "-f", "-e", "trace=none", "-o", "/dev/null", self.programs / "attached")
        tracer, self.pid = self.process.pid, self.child_of(self.process)
        self.refused(f"process {tracer} .strace. traces it already")
        self.process.stdin.close()
        self.assertIn("wrong=0", self.process.stdout.read())
        self.assertEqual(self.process.wait(LIMIT_SECONDS), 0)

    def test_static_and_32_bit_programs_are_named(self):
        for bits, why in (64, "no glibc that can load a library"), (32, "not an x86-64 program"):
            tiny_program(self.folder / "tiny", bits)
            try:
                self.start(self.folder / "tiny")
            except OSError as error:  # a kernel without them
                self.assertEqual(bits, 32, error)
                continue
            self.refused(why, bits)
            self.assertIsNone(self.process.poll())
            self.kill(self.process)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_one_under_another_root_is_told_what_it_lacks(self):
        root = self.folder / "root"
        program = self.programs / "attached"
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split()
        for file in [str(program), *(word for word in listed if word.startswith("/"))]:
            place = root / file[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
        (root / "bin").mkdir(exist_ok=True)
        shutil.copy(program, root / "bin/attached")
        self.process = subprocess.Popen(["/bin/attached"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: (os.chroot(root), os.chdir("/")))
        self.addCleanup(self.kill, self.process)
        self.assertEqual(self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid
        self.refused("it does not see .*libsonde-agent.so .*in a container or under another root")
        self.end()

    @unittest.skipUnless(subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode == 0,
                         "needs a mount namespace of its own: root, and a root folder that is a mount")
    def test_another_mount_namespace_matters_only_where_files_are_others(self):
        self.start("unshare", "-m", self.programs / "attached")
        maps = Path(f"/proc/{self.pid}/maps").read_text(encoding="utf-8").split()
        if not any(os.path.exists(word) for word in maps if word.endswith("/libc.so.6")):
            self.skipTest("in a chroot, where files of another namespace are named by a root that is not ours")
        self.assertIn("recorded: metrics, call stacks", self.record("--duration", "300ms"))
        self.end()
        # The folder of this test, with the recording, is another one there.
        self.start("unshare", "-m", "sh", "-c",
                   f"mount -t tmpfs none {self.folder} 2>/dev/null || echo no mount; exec {self.programs}/attached")
        self.refused("it does not see .*in a container or under another root", 1)
        self.end()

    def test_one_in_a_sandbox_of_its_own_is_not_ended_for_loading_a_library(self):
        self.start("/usr/bin/python3", "-c", SANDBOX)
        self.refused("in a sandbox of its own")
        self.process.stdin.write("x")
        self.process.stdin.flush()
        self.assertEqual(self.process.stdout.readline(), "1 interrupted=0 wrong=0\n")

    def test_filters_that_it_has_from_its_parent_do_not_matter(self):
        deny = self.programs / "deny"
        if not deny.exists():
            self.skipTest("needs deny")
        self.start(deny, "perf", "--", "sh", "-c", f"{self.programs}/attached; true")
        self.pid = self.child_of(self.process)
        self.assertIn("recorded: metrics, call stacks", self.record("--duration", "300ms"))
        self.end()

    def test_a_handler_of_sigsegv_stays_where_the_signal_is_blocked(self):
        self.start("/usr/bin/python3", "-c", HANDLER)
        before = self.seen()
        self.assertIn("recorded: metrics", self.record("--duration", "200ms"))
        self.assertEqual(self.seen(), before)
        self.process.stdin.write("x")
        self.process.stdin.flush()
        self.assertEqual(self.process.stdout.readline(), "1 interrupted=0 wrong=0\n")

    def test_threads_and_oneself_are_no_processes_to_record(self):
        self.start(self.programs / "attached")
        whole = self.pid
        # The first that it made: the last ones end soon.
        self.pid = sorted(int(task) for task in os.listdir(f"/proc/{whole}/task"))[1]
        self.assertIn(f"is a thread of process {whole}", self.record(status=2))
        self.pid = whole
        made = subprocess.run(["sh", "-c", f'exec "{self.sonde}" record --pid $$ -o "{self.folder}/t.rpd"'],
                              capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        self.assertEqual(made.returncode, 2)
        self.assertRegex(made.stderr, r"\Asonde: record: process \d+: is this sonde record itself .*\n\Z")
        self.assertEqual(list(self.folder.glob("*.rpd")), [])
        self.end()

    def test_threads_of_the_kernel(self):
        kernel = Path("/proc/2/comm")
        if not kernel.exists() or kernel.read_text() != "kthreadd\n":
            self.skipTest("none is to be seen")
        self.pid = 2
        self.assertIn("it is a kernel thread", self.record("--duration", "100ms"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_of_another_user(self):
        self.process = subprocess.Popen([self.programs / "attached"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, user=65534, group=65534, extra_groups=[])
        self.addCleanup(self.kill, self.process)
        self.assertEqual(self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid
        os.chmod(self.folder, 0o755)
        before = self.seen()
        for number in range(100):  # on a machine however busy
            self.assertIn("recorded: metrics, call stacks", self.record("--duration", "500ms", name=f"{number}.rpd"))
            self.assertEqual(self.seen(), before)
            if self.samples_in().get("busy_in_c", 0) > 0:
                break
        self.assertGreater(self.samples_in().get("busy_in_c", 0), 0)
        self.end()
        self.start(self.programs / "attached")
        before = self.seen()
        own = self.folder / "own"
        own.mkdir()
        os.chown(own, 65534, 65534)
        made = self.run_sonde("record", "--pid", self.pid, "--duration", "100ms", "-o", own / "t.rpd", "--spool-dir", own,
                              status=None, timeout=LIMIT_SECONDS, user=65534, group=65534, extra_groups=[])
        self.assertIn("this user may not trace it", made.stderr)
        self.assertEqual(self.seen(), before)
        self.end()

    def test_one_that_is_being_recorded_already(self):
        self.start(self.programs / "attached")
        with subprocess.Popen([self.sonde, "record", "-q", "--pid", str(self.pid), "-o", str(self.folder / "first.rpd")],
                              env={**os.environ, "SONDE_SPOOL_DIR": str(self.folder.parent)}) as first:
            self.addCleanup(first.kill)
            deadline = time.monotonic() + LIMIT_SECONDS
            while not self.seen()[2] and time.monotonic() < deadline:
                time.sleep(0.02)
            text = self.record("--duration", "100ms")
            self.assertIn("metrics only, no call stacks, calls or markers: another recording has it", text)
            first.send_signal(signal.SIGINT)
            self.assertEqual(first.wait(LIMIT_SECONDS), 0)
        self.end()


if __name__ == "__main__":
    Refused.programs = Path(take("--programs")).resolve()
    main()
