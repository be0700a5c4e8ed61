#!/usr/bin/python3
"""Gives every asking command files that are no traces, or damaged ones, and checks how it ends.

hostile_files.py SEED [TRACE]: TRACE is a good .rpd to damage; without it only the fixed files are tried.
A command may succeed on a file with a flipped bit, else it must exit with 1 and one line on stderr
that names the file. Prints what it tried, or the first command that did otherwise (exit status 1).
"""

import gzip
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

COMMANDS = [["info"], ["top"], ["ktop"], ["busy"], ["kernels"], ["copies"], ["api"],
            ["stats", "-o", "stats_out", "--force"], ["top", "--from", "10%"]]
FLIPPED_FILES = 25


def main():
    rng = random.Random(int(sys.argv[1]))
    trace = Path(sys.argv[2]).read_bytes() if len(sys.argv) > 2 else None
    tried = 0
    for name, content, may_succeed in hostile_files(rng, trace):
        path = Path(name)
        if content is not None:
            path.write_bytes(content)
        for command in COMMANDS + [["query", None]]:
            words = ["sonde", command[0], str(path), "select count(*), sum(start_ns) from v_op"]
            if command[0] != "query":
                words = ["sonde", *command, str(path)]
            problem = check(words, str(path), may_succeed)
            if problem:
                print(f"{' '.join(words)}: {problem}")
                return 1
            tried += 1
    print(f"{tried} commands ended as they should")
    return 0


def check(words, path, may_succeed):
    done = subprocess.run(words, capture_output=True, timeout=60)
    stderr = done.stderr.decode("utf-8", "replace")
    if done.returncode == 0 and may_succeed:
        return ""
    if done.returncode != 1:
        return f"exit status {done.returncode}: {stderr[-2000:]}"
    lines = stderr.splitlines()
    if len(lines) != 1 or not lines[0].startswith("sonde: ") or path not in lines[0]:
        return f"not one line that names the file: {stderr[-2000:]}"
    return ""


def hostile_files(rng, trace):
    yield "absent.rpd", None, False
    Path("folder.rpd").mkdir(exist_ok=True)
    yield "folder.rpd", None, False
    yield "empty.rpd", b"", False
    yield "text.rpd", b"this is not a trace\n" * 1000, False
    yield "zeros.rpd", bytes(100000), False
    yield "noise.rpd", rng.randbytes(100000), False
    yield "header.rpd", b"SQLite format 3\0" + rng.randbytes(5000), False
    yield "noise.rpd.gz", gzip.compress(rng.randbytes(1000)), False
    yield "cut.rpd.gz", gzip.compress(b"SQLite format 3\0" + bytes(100000))[:60], False
    yield "other.rpd", other_database(), False
    if trace is None:
        return
    for part in (1, 16, 99, 4096, len(trace) // 2, len(trace) - 1):
        yield f"first_{part}.rpd", trace[:part], part > len(trace) // 2
    yield "cut_trace.rpd.gz", gzip.compress(trace)[:-100], False
    for number in range(FLIPPED_FILES):
        damaged = bytearray(trace)
        for _ in range(1 + number * 4):
            damaged[rng.randrange(100, len(damaged))] ^= 1 << rng.randrange(8)
        yield f"flipped_{number}.rpd", bytes(damaged), True
        page = rng.randrange(1, len(trace) // 4096) * 4096
        yield f"page_{number}.rpd", trace[:page] + rng.randbytes(4096) + trace[page + 4096:], True


def other_database():
    path = Path("other_source.db")
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.execute("create table songs(title)")
    database.commit()
    database.close()
    return path.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
