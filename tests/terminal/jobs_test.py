#!/usr/bin/python3
"""Job control: a program that stops itself stops the job of an interactive shell, recorded as not, and
`fg` lets it go on; so does whoever lets the program alone go on.

    jobs_test.py --sonde PATH"""
import argparse
import os
import pathlib
import pty
import select
import sys
import tempfile
import time

LIMIT_SECONDS = 60
PROMPT = b"ready> "
PROGRAM = "sh -c 'kill -STOP $$; echo went \"on\"'"
# Something else than the shell lets it go on.
HELPED = "sh -c '(sleep 1; kill -CONT $$) & kill -STOP $$; echo went \"on\"'"


class Shell:
    """A bash with a terminal of its own."""

    def __init__(self, folder):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"],
                      {**os.environ, "PS1": PROMPT.decode(), "TERM": "dumb"})
        self.unread = b""
        self.until(PROMPT)

    def until(self, text):
        """What it writes until then; raises TimeoutError."""
        end = time.monotonic() + LIMIT_SECONDS
        while text not in self.unread:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no {text!r} in {LIMIT_SECONDS} s: {self.unread!r}")
            self.unread += os.read(self.terminal, 4096)
        written, _, self.unread = self.unread.partition(text)
        return written

    def run(self, line, until=PROMPT):
        os.write(self.terminal, line.encode() + b"\n")
        self.until(b"\r\n")  # the line itself
        return self.until(until)

    def end(self):
        os.write(self.terminal, b"kill %1 2> /dev/null; exit\nexit\n")
        os.close(self.terminal)  # and what is left gets a SIGHUP
        os.waitpid(self.pid, 0)


def check(name, prefix, folder):
    """`prefix`: the command that records, or nothing."""
    shell = Shell(folder)
    pathlib.Path(folder, "script").write_text(f"{prefix} {HELPED}\n")
    try:
        stopped = shell.run(f"{prefix} {PROGRAM}")
        problems = [] if b"Stopped" in stopped else [f"{name}: the shell says {stopped!r}"]
        again = shell.run("fg")
        if b"went on" not in again:
            problems.append(f"{name}: after fg {again!r}")
        shell.run("bash script; echo script: $?", until=b"script: 0")  # no job of the shell's own
        shell.until(PROMPT)
        stopped = shell.run(f"{prefix} {HELPED}")
        if b"Stopped" not in stopped:
            problems.append(f"{name}: the shell says {stopped!r}")
        end = time.monotonic() + LIMIT_SECONDS
        while b"Stopped" in (jobs := shell.run("jobs")) or b"Running" in jobs:
            if time.monotonic() > end:
                return problems + [f"{name}: let go on by another, {jobs!r}"]
            time.sleep(0.1)
        return problems
    except TimeoutError as error:
        return [f"{name}: {error}"]
    finally:
        shell.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", type=pathlib.Path, required=True)
    sonde = parser.parse_args().sonde.resolve()
    with tempfile.TemporaryDirectory(prefix="sonde-jobs-") as folder:
        problems = check("alone", "", folder)
        problems += check("recorded", f"{sonde} record -q --overwrite -o t.rpd --", folder)
        if not pathlib.Path(folder, "t.rpd").exists():
            problems.append("no recording")
    print("\n".join(problems) or "stopped and went on, recorded as not")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
