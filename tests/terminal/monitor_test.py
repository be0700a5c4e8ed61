#!/usr/bin/python3
"""Works with `sonde monitor` at a terminal as a user would, and looks at what the terminal shows.

    monitor_test.py --sonde PATH [--show]

The terminal is a pseudo terminal and the few lines of Screen below, which know of ECMA-48 what the
tool is allowed to send; anything else fails the test."""
import argparse
import fcntl
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import watch_tree  # noqa: E402

LIMIT_S = 60
TOKEN = re.compile(r"\x1b\[(\?)?([0-9;]*)([A-Za-z])|\x1b")


class Screen:
    def __init__(self, columns, rows):
        self.resize(columns, rows)
        self.modes, self.styles, self.colours = set(), set(), False

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0

    def feed(self, text):
        """Takes what is whole of it; the rest is returned."""
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            if match and match.group(3):
                self.control(*match.groups())
                at = match.end()
            elif text[at] == "\x1b":
                if len(text) - at > 30:
                    raise AssertionError(f"an unknown escape: {text[at:at + 30]!r}")
                return text[at:]
            else:
                self.write(text[at])
                at += 1
        return ""

    def control(self, private, numbers, letter):
        if private:
            assert numbers in ("1049", "25", "7", "2026"), f"mode {numbers}"
            (self.modes.add if letter == "h" else self.modes.discard)(numbers)
        elif letter == "H":
            self.row, self.column = (int(n) - 1 for n in numbers.split(";"))
        elif letter == "J":
            assert numbers == "2"
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif letter == "m":
            self.colours |= any(30 <= int(n or 0) < 50 for n in numbers.split(";"))
        else:
            raise AssertionError(f"control {numbers}{letter}")

    def write(self, character):
        assert character >= " " and character != "\x7f", f"control character {character!r}"
        # A frame of the size before may come after a resize; then nothing is kept of it.
        if self.row < self.rows and self.column < self.columns:
            self.cells[self.row][self.column] = character
        self.column += 1

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)


class Session:
    def __init__(self, sonde, root, columns=80, rows=24, **environment):
        self.master, slave = pty.openpty()
        self.screen, self.rest, self.slave = Screen(columns, rows), b"", slave
        self.size(columns, rows)
        self.before = termios.tcgetattr(slave)
        kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.process = subprocess.Popen(
            [sonde, "monitor", "--sys-root", f"{root}/sys", "--proc-root", f"{root}/proc"], stdin=slave, stdout=slave,
            stderr=slave, cwd=root if root.exists() else None, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment})

    def size(self, columns, rows):
        self.screen.resize(columns, rows)
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return
        data = self.rest + os.read(self.master, 65536)
        text = data.decode(errors="ignore") if data[-1] < 0x80 else ""
        self.rest = b"" if text else data
        self.rest = self.screen.feed(text).encode() if text else self.rest

    def wait(self, what, gone=False):
        """Reads until the screen shows `what` (a regular expression), or no longer does."""
        end = time.monotonic() + LIMIT_S
        while bool(re.search(what, self.screen.text(), re.MULTILINE)) == gone:
            assert time.monotonic() < end, f"no {what!r} on:\n{self.screen.text()}"
            assert self.process.poll() is None, f"ended with {self.process.returncode}:\n{self.screen.text()}"
            self.read(0.1)

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self, status=0):
        end = time.monotonic() + LIMIT_S
        while self.process.poll() is None:
            assert time.monotonic() < end, "does not end"
            self.read(0.05)
        while select.select([self.master], [], [], 0.05)[0]:
            self.read(0)
        assert self.process.returncode == status, self.process.returncode
        assert not self.screen.modes - {"7", "25"}, f"left on: {self.screen.modes}"
        assert {"7", "25"} <= self.screen.modes, "the cursor is not back"
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is not as it was"
        os.close(self.slave)
        os.close(self.master)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def shows_the_machine(sonde, root):
    with Session(sonde, root) as user:
        user.wait(r"^>? +0 Test GPU .*100 % +10\.0/64\.0 GiB +140/560 +50 +1700$")
        user.wait(r"^  1 Test GPU .* 99 % .* with 0 ")
        user.wait(r"^  2 Test GPU +asleep$")
        user.wait(r"^ +100 root +0,3,4 +63\.0 GiB +99 .*python3 tra")
        user.wait(r"^ junction 50 C  memory clock 1600 MHz  ECC 0 uncorrected 8 corrected  SPX NPS1")
        user.wait(r"GPU 3 ecc: 2 uncorrectable")
        assert len(user.screen.text().split("\n")) == 24
        assert user.screen.colours
        user.type("q")
        user.end()


def has_keys(sonde, root):
    with Session(sonde, root, 200, 60) as user:
        user.wait(r"GPU 0: busy 100 %")
        user.type("\t")
        user.wait(r"GPU 1: busy 99 %.*power 140 of 560 W")
        user.type("\x1b[D\x1b[D")
        user.wait(r"GPU 4: busy 0 %")
        user.type("h")
        user.wait(r": busy \d", gone=True)
        user.type("?")
        user.wait(r"reverse the order")
        user.type("x")
        user.wait(r"reverse the order", gone=True)
        user.wait(r"^ +100 root.*slurm:4711 +6 ")
        user.type("N")
        user.wait(r"sort \(PID\)")
        user.type("R")
        user.wait(r"sort \(PID, reversed\)")
        user.wait(r"^ +200 [^\n]*\n +100 root")
        user.type("ftrain")
        user.wait(r"only processes with: train_")
        user.wait(r"^ +200 ", gone=True)
        user.type("\x1b")
        user.wait(r"^ +200 ")
        user.type("fnobody\r")
        user.wait(r"no such process")
        user.type(" ")
        user.wait(r"paused")
        user.type(" +")
        user.wait(r"every 2 s")
        user.type("---")
        user.wait(r"every 0\.2 s")
        user.type("a")
        user.wait(r"^Alerts", gone=True)
        user.type("\x1b[99~\x1bOZ")  # keys that mean nothing
        user.type("p")
        user.wait(r"^ +PID User", gone=True)
        user.type("\x1b[21~")  # F10
        user.end()


def follows_the_size(sonde, root):
    with Session(sonde, root) as user:
        user.wait(r"q quit")
        for columns, rows in ((200, 60), (300, 80), (40, 10), (10, 3), (1, 1), (80, 24), (120, 40)):
            user.size(columns, rows)
            user.wait("sonde monitor" if columns >= 30 and rows >= 6 else "^t")
            if columns >= 80:  # the last row, once the frame of the size before is gone
                user.wait(rf"\A(.*\n){{{rows - 1}}} q quit")
        for i in range(50):  # a storm
            user.size(60 + i, 20 + i % 7)
        user.size(100, 30)
        user.wait(r"\A(.*\n){29} q quit")
        user.process.send_signal(signal.SIGINT)
        user.end()


def follows_the_files(sonde, root):
    device = root / "sys/devices/pci0000:00/0000:cb:00.0"
    with Session(sonde, root) as user:
        user.wait(r"^  4 Test GPU .* 0 % ")
        watch_tree.put(device / "gpu_busy_percent", 57)
        user.wait(r"^  4 Test GPU .* 57 % ")
        user.wait(r"GPU 4 idle", gone=True)
        for path in sorted(device.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        device.rmdir()
        user.wait(r"^  4 Test GPU +gone$")
        user.wait(r"GPU 4 gone: 0000:cb:00\.0 is no longer there")
        user.process.send_signal(signal.SIGTERM)
        user.end()


def needs_no_colour(sonde, root):
    with Session(sonde, root, NO_COLOR="1", LC_ALL="C") as user:
        user.wait(r"\[\|+\]")
        assert not user.screen.colours
        assert user.screen.text().isascii(), user.screen.text()
        user.type("q")
        user.end()


def stops_and_goes_on(sonde, root):
    with Session(sonde, root) as user:
        user.wait(r"q quit")
        user.process.send_signal(signal.SIGTSTP)
        end = time.monotonic() + LIMIT_S
        while "1049" in user.screen.modes or b"T" not in state_of(user.process.pid):
            assert time.monotonic() < end, "does not stop"
            user.read(0.1)
        user.screen.resize(80, 24)
        user.process.send_signal(signal.SIGCONT)
        user.wait(r"q quit")
        user.type("q")
        user.end()


def records_what_is_marked(sonde, root):
    with Session(sonde, root) as user:  # there is no such process
        user.wait(r"q quit")
        user.type("r")
        user.wait(r"cannot be attached to: |may not be traced|has no glibc|cannot load")
        user.type("q")
        user.end()
    program = [sys.executable, "-c", "import time\nwhile True: sum(range(10000)); time.sleep(0.001)"]
    with subprocess.Popen(program) as process:
        try:
            take_part(root, 100, process.pid)
            with Session(sonde, root) as user:
                user.wait(str(process.pid))
                user.type("r")
                user.wait(f"recording process {process.pid} for 10s into monitor-{process.pid}.rpd")
                user.type("r")
                user.wait("a recording is in progress")
                time.sleep(1)
                user.type("q")
                user.end()
            with sqlite3.connect(f"file:{root}/monitor-{process.pid}.rpd?mode=ro", uri=True) as trace:
                assert trace.execute("select count(*) from rocpd_monitor").fetchone()[0] > 0
                assert trace.execute("select count(*) from sonde_ingest").fetchone()[0] == 0
        finally:
            process.kill()


def shows_kernels(sonde, root):
    """Of a process that is not recorded, and of one that is."""
    with subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.01)"]) as process:
        try:
            take_part(root, 100, process.pid)
            with Session(sonde, root, TMPDIR=str(root)) as user:
                user.wait(str(process.pid))
                user.type("s")
                user.wait(f"^Kernels of {process.pid}, recorded for this screen$")
                user.wait("no operations in the last")
                user.type("s")
                user.wait("Kernels of", gone=True)
                user.type("s")
                user.wait("Kernels of")
                user.type("q")
                user.end()
            assert not list(root.glob("sonde-monitor-*")), "its files are not gone"
        finally:
            process.kill()
    board = root / "board"
    board.write_bytes(bytes(8 * 3))
    storm = Path(sonde).parents[1] / "tests/programs/op_storm"
    with subprocess.Popen([sonde, "record", "-q", "--last", "600s", "-o", str(root / "t.rpd"), "--", str(storm), str(board), "1"],
                          stdin=subprocess.DEVNULL) as recorder:
        try:
            end = time.monotonic() + LIMIT_S
            while (pid := struct.unpack_from("Q", board.read_bytes(), 8)[0]) == 0:
                assert time.monotonic() < end
                time.sleep(0.05)
            take_part(root, process.pid, pid)
            with Session(sonde, root) as user:
                user.wait(str(pid))
                user.type("s")
                user.wait(rf"^Kernels of {pid}, 10 s: [0-9.]+ % of the time, [1-9]\d*/s, from .*t")
                user.wait(r"Time % +Calls/s")
                user.type("q")
                user.end()
        finally:
            with open(board, "r+b") as file:
                file.seek(16)
                file.write(struct.pack("Q", 1))
        assert recorder.wait(LIMIT_S) == 0


def take_part(root, before, pid):
    (root / f"proc/{before}").rename(root / f"proc/{pid}")
    (root / f"sys/class/kfd/kfd/proc/{before}").rename(root / f"sys/class/kfd/kfd/proc/{pid}")


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0]


def shows_no_gpu(sonde, root):
    for folder in ("sys", "proc"):
        (root / "nothing" / folder).mkdir(parents=True)
    with Session(sonde, root / "nothing") as user:
        user.wait(r"no GPU found")
        user.wait(r"no process uses a GPU")
        user.type("\t\x1b[Ajk sRMPhag")
        user.wait(r"paused")
        user.type("q")
        user.end()


def prints_tables_where_dumb(sonde, root):
    with Session(sonde, root, TERM="dumb") as user:
        sent, end = b"", time.monotonic() + LIMIT_S
        while user.process.poll() is None or select.select([user.master], [], [], 0.1)[0]:
            assert time.monotonic() < end, "does not end"
            if select.select([user.master], [], [], 0.1)[0]:
                sent += os.read(user.master, 65536)
        assert user.process.wait() == 0
        assert b"GPUs" in sent and b"\x1b[?" not in sent and b"\x1b[H" not in sent, sent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--show", action="store_true", help="print the first screen and end")
    arguments = parser.parse_args()
    for test in (shows_the_machine, has_keys, follows_the_size, follows_the_files, needs_no_colour,
                 stops_and_goes_on, records_what_is_marked, shows_kernels, shows_no_gpu, prints_tables_where_dumb):
        with tempfile.TemporaryDirectory(prefix="sonde-monitor-") as folder:
            watch_tree.make(Path(folder))
            if arguments.show:
                with Session(arguments.sonde, Path(folder), 100, 30) as user:
                    user.wait("q quit")
                    user.read(1.5)
                    user.read(1.5)
                    print(user.screen.text())
                return 0
            test(arguments.sonde, Path(folder))
            print(f"ok {test.__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
