#!/usr/bin/python3
"""Runs every command of docs/slow-training.md on the trace that the page is about, and compares what it
prints with the page: line by line, where a line "..." stands for any number of lines.

    walkthrough_test.py --sonde PATH [--write]

--write puts what the commands print into the page, keeping at most as many lines as are there, or the
first 12 of a command without output. The trace comes from SONDE_SHARED; exit 77 without."""
import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from tool_case import ROOT, SHARED  # noqa: E402

PAGE = ROOT / "docs/slow-training.md"
TRACE = SHARED / "data/kineto/nccl_data.json.gz"
SKIPPED = 77
MOST_LINES = 12


def blocks(lines):
    """(first line, end, command, expected lines) of each indented "$ sonde ..." with its output."""
    at = 0
    while at < len(lines):
        if not lines[at].startswith("    $ sonde"):
            at += 1
            continue
        end = at + 1
        while end < len(lines) and lines[end].startswith("    ") and not lines[end].startswith("    $ "):
            end += 1
        yield at, end, lines[at][6:], [line[4:] for line in lines[at + 1:end]]
        at = end


def run(sonde, command, folder):
    words = [sonde if word == "sonde" else word for word in shlex.split(command)]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SONDE_")}
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=kept)
    # A blank line ends an indented block of the page.
    text = done.stdout + done.stderr
    return done.returncode, [line for line in text.splitlines() if line.strip()]


def is_said(expected, printed):
    """Whether the printed lines are those of the page."""
    if not expected:
        return not printed
    if expected[0] == "...":
        return any(is_said(expected[1:], printed[skip:]) for skip in range(len(printed) + 1))
    return bool(printed) and expected[0] == printed[0].rstrip() and is_said(expected[1:], printed[1:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    if not TRACE.exists():
        print(f"skipped: no {TRACE}")
        return SKIPPED
    sonde = str(pathlib.Path(arguments.sonde).resolve())
    lines = PAGE.read_text().splitlines()
    problems, count, written, copied = 0, 0, [], 0
    with tempfile.TemporaryDirectory(prefix="sonde-walk-") as folder:
        (pathlib.Path(folder) / "trace.json.gz").symlink_to(TRACE)
        for begin, end, command, expected in blocks(lines):
            count += 1
            status, printed = run(sonde, command, folder)
            if arguments.write:
                most = len([line for line in expected if line != "..."]) or MOST_LINES
                shown = [line.rstrip() for line in printed[:most]]
                written += lines[copied:begin + 1] + [f"    {line}" for line in shown]
                written += ["    ..."] if len(printed) > most else []
                copied = end
            elif status != 0 or not is_said(expected, printed):
                problems += 1
                print(f"{PAGE.name}:{begin + 1}: {command} (exit {status}) prints\n  " +
                      "\n  ".join(printed[:len(expected) + 3]))
    if arguments.write:
        PAGE.write_text("\n".join(written + lines[copied:]) + "\n")
    print(f"{count} commands, {problems} problems")
    return 1 if problems or count < 6 else 0


if __name__ == "__main__":
    sys.exit(main())
