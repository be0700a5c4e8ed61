#!/usr/bin/python3
"""`sonde monitor` in tmux, a terminal of others: what its screen holds after each change.

    tmux_test.py --sonde PATH"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import watch_tree  # noqa: E402

LIMIT_S = 60


class Tmux:
    """A server of its own, with one window of the size that is wanted."""

    def __init__(self, sonde, root, columns, rows, **environment):
        self.socket = tempfile.mkdtemp(prefix="sonde-tmux-")
        kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR", "TMUX")}
        self.environment = {**kept, "LC_ALL": "C.UTF-8", "TMUX_TMPDIR": self.socket}
        variables = "".join(f"{name}={shlex.quote(value)} " for name, value in environment.items())
        command = (f"{variables}{shlex.quote(sonde)} monitor --sys-root {root}/sys --proc-root {root}/proc; "
                   "echo ended with $?; exec sleep 600")
        self.ask("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), command)
        self.ask("set-option", "-g", "status", "off")
        self.size(columns, rows)

    def ask(self, *words):
        done = subprocess.run(["tmux", *words], env=self.environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 0, f"tmux {words}: {done.stderr}"
        return done.stdout

    def size(self, columns, rows):
        self.ask("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self, *options):
        return self.ask("capture-pane", "-p", *options)

    def wait(self, what, *options):
        end = time.monotonic() + LIMIT_S
        while not re.search(what, self.screen(*options), re.MULTILINE):
            assert time.monotonic() < end, f"no {what!r} on:\n{self.screen()}"
            time.sleep(0.1)

    def end(self):
        self.ask("send-keys", "q")
        self.wait(r"^ended with 0$")
        assert self.ask("display-message", "-p", "#{alternate_on} #{cursor_flag}").split() == ["0", "1"], "not given back"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "kill-server"], env=self.environment, capture_output=True, check=False)
        shutil.rmtree(self.socket, ignore_errors=True)


def fills_each_size(sonde, root):
    with Tmux(sonde, root, 80, 24) as window:
        for columns, rows in ((80, 24), (200, 60), (100, 30), (80, 24)):
            window.size(columns, rows)
            window.wait(rf"\A(.*\n){{{rows - 1}}} q quit")
            window.wait(r"^>? +0 Test GPU .*100 % +10\.0/64\.0 GiB +140/560")
            assert max(map(len, window.screen().split("\n"))) <= columns
        window.wait(r"\x1b\[[0-9;]*m", "-e")
        window.end()


def shows_that_a_gpu_goes(sonde, root):
    device = root / "sys/devices/pci0000:00/0000:cb:00.0"
    with Tmux(sonde, root, 200, 60) as window:
        window.wait(r"^  4 Test GPU .* 0 % ")
        shutil.rmtree(device)
        window.wait(r"^  4 Test GPU +gone$")
        window.wait(r"GPU 4 gone: 0000:cb:00\.0 is no longer there")
        window.end()


def has_no_colour(sonde, root):
    with Tmux(sonde, root, 80, 24, NO_COLOR="1") as window:
        window.wait(r"^ q quit")
        assert not re.search(r"\x1b\[[0-9;]*[34][0-7]", window.screen("-e")), window.screen("-e")
        window.end()


def shows_no_gpu(sonde, root):
    for folder in ("sys", "proc"):
        (root / "nothing" / folder).mkdir(parents=True)
    with Tmux(sonde, root / "nothing", 80, 24) as window:
        window.wait(r"no GPU found")
        window.end()


def prints_tables_where_dumb(sonde, root):
    with Tmux(sonde, root, 200, 60, TERM="dumb") as window:
        window.wait(r"^GPUs$")
        window.wait(r"^ended with 0$")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sonde", required=True)
    arguments = parser.parse_args()
    if shutil.which("tmux") is None:
        print("skipped: no tmux")
        return 77
    for test in (fills_each_size, shows_that_a_gpu_goes, has_no_colour, shows_no_gpu, prints_tables_where_dumb):
        with tempfile.TemporaryDirectory(prefix="sonde-monitor-") as folder:
            watch_tree.make(Path(folder))
            test(arguments.sonde, Path(folder))
            print(f"ok {test.__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
