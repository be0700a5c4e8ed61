"""What tests of `sonde record --pid` share: a program that is attached to, and what of it may not change."""
import os
import re
import signal
import subprocess
from pathlib import Path

from tool_case import ToolCase, sql

LIMIT_SECONDS = 120


class AttachCase(ToolCase):
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
        made = self.run_sonde("record", "--pid", self.pid, "-o", self.trace, *options, status=status,
                              timeout=LIMIT_SECONDS, env={**os.environ, "SONDE_SPOOL_DIR": str(self.folder)})
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
        return sql(self.trace, text)

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
