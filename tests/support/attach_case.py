"""What tests of `sonde record --pid` share: a program that is attached to, and what of it may not change."""
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from tool_case import ToolCase

LIMIT_SECONDS = 120


def take(option, fallback=None):
    if option not in sys.argv:
        return fallback
    at = sys.argv.index(option)
    _, value = sys.argv[at:at + 2]
    del sys.argv[at:at + 2]
    return value


class AttachCase(ToolCase):
    sonde = ""
    programs = Path()

    def start(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.kill, self.process)
        self.assertEqual(self.process.stdout.readline(), "ready\n")
        self.pid = self.process.pid

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

    def record_steps(self, *options, name):
        """Records until each thread of a program has made whole steps meanwhile (tests/programs/steps.h)."""
        self.trace = self.folder / name
        recorder = subprocess.Popen([self.sonde, "record", "--pid", str(self.pid), "-o", str(self.trace), *options],
                                    stderr=subprocess.PIPE, text=True,
                                    env={**os.environ, "SONDE_SPOOL_DIR": str(self.folder)})
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        text = ""
        while "not recorded: " not in text:
            text += (line := recorder.stderr.readline())
            self.assertNotEqual(line, "", text)
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.assertEqual(self.process.stdout.readline(), "more\n")
        recorder.send_signal(signal.SIGINT)
        text += recorder.stderr.read()
        self.assertEqual(recorder.wait(LIMIT_SECONDS), 0, text)
        self.assertEqual(list(self.folder.glob("sonde-*")), [])
        return text

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
            file = os.readlink(path).removesuffix(" (deleted)")  # other programs of ROCm delete what they share
            return None if "/kfd/proc/" in file else file  # which ROCm reads while it makes a queue
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
