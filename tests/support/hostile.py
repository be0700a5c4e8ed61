#!/usr/bin/env python3
"""Gives bad files to every command of the tool that takes a file, or bad session directories to
recover. The commands are those that `sonde --help` lists; a new one is tried without being named
here.

    hostile.py --sonde SONDE --folder EMPTY [--good TRACE] [--flips COUNT] [--part N/OF]
    hostile.py --sonde SONDE --folder EMPTY --sessions [--recorder SONDE]

What must hold for a file that cannot be read: exit status 1, and on stderr exactly one line, which
names the file. A file with flipped bits may also be readable; then the exit status is 0. No run may
be ended by a signal, print a sanitizer's report, or take more than a minute.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

import damage

STRANGE = re.compile(r"AddressSanitizer|runtime error|LeakSanitizer|Assertion|SONDE_CHECK|unexpected failure|terminate called")


def make_good(path):
    """A small trace by plain SQL, of no version of Sonde's own making: its commands read any."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    from rpd_fixture import Fixture
    fixture = Fixture(path)
    for i in range(200):
        api = fixture.api(1000 * i, 1000 * i + 300, f"call{i % 7}", args=f"x = {i}")
        fixture.op(1000 * i + 100, 1000 * i + 900, f"kernel{i % 5}", apis=(api,))
    fixture.close()


NEEDED = {"trim": ["--from", "10%"]}  # options without which a command is wrong usage


def commands_with_files(sonde):
    """Command lines with FILE in the place of the file."""
    listing = subprocess.run([sonde, "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z-]+)  +[A-Z]", listing, re.MULTILINE)
    names += re.findall(r"[a-z-]+", listing.split("Views:")[1])
    lines = []
    for name in names:
        text = subprocess.run([sonde, name, "--help"], capture_output=True, text=True, check=True)
        usage = re.search(rf"^  sonde {name} (.*)$", text.stdout, re.MULTILINE).group(1).split()
        if "FILE" in usage:
            words = [{"SQL": "SELECT count(*) FROM rocpd_op"}.get(word, word)
                     for word in usage if not word.startswith("[")]
            lines.append([name, *NEEDED.get(name, []), *words])
    assert len(lines) >= 10, f"only {lines}"
    return lines + [["record", "--append", "-o", "FILE", "--", "/bin/true"],
                    ["export", "--format", "perfetto", "FILE"],
                    ["serve", "--idle", "0.1s", "FILE"]]


def complaint(result, path, may_work):
    """What is wrong with a run, or None."""
    err = result.stderr.decode("utf-8", "replace")
    if result.returncode < 0 or STRANGE.search(err):
        return f"exit {result.returncode}: {err[-300:]}"
    if result.returncode == 0 and may_work:
        return None
    if result.returncode != 1:
        return f"exit {result.returncode}, not 1: {err[-300:]}"
    if may_work and not err:
        return "exit 1 and not a word"
    if not may_work and (len(err.splitlines()) != 1 or os.path.basename(path) not in err):
        return f"not one line that names the file: {err[-300:]!r}"
    return None


def run(sonde, line, folder):
    return subprocess.run([sonde, *line], capture_output=True, stdin=subprocess.DEVNULL, cwd=folder,
                          timeout=60, check=False, env={**os.environ, "TMPDIR": folder})


def try_file(sonde, line, bad, name):
    """One command on a fresh copy of a file, for it may write beside it; what is wrong, or None."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(bad)) as scratch:
        path = os.path.join(scratch, name)
        if os.path.isdir(os.path.join(bad, name)):
            os.mkdir(path)
        elif name != "missing.rpd":
            shutil.copy(os.path.join(bad, name), path)
        words = [path if word == "FILE" else word for word in line]
        wrong = complaint(run(sonde, words, scratch), path, name.startswith("maybe"))
    return wrong and f"{' '.join(line)} on {name}: {wrong}"


def make_bad(good, flips, folder):
    os.makedirs(os.path.join(folder, "folder.rpd"))
    with open(good, "rb") as file:
        data = file.read()
    for name, content in damage.variants(data, flips):
        with open(os.path.join(folder, name + ".rpd"), "wb") as file:
            file.write(content)


def try_files(sonde, good, flips, folder, part):
    if not good:
        good = os.path.join(folder, "good.rpd")
        make_good(good)
    bad = os.path.join(folder, "files")
    make_bad(good, flips, bad)
    lines = commands_with_files(sonde)
    names = sorted(os.listdir(bad)) + ["missing.rpd"]
    pairs = [(line, name) for name in names for line in lines
             # A new trace, there or in it.
             if line[0] != "record" or name not in ("missing.rpd", "folder.rpd")]
    number, of = map(int, part.split("/"))
    pairs = pairs[number - 1::of]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda pair: try_file(sonde, pair[0], bad, pair[1]), pairs))
    problems = [wrong for wrong in found if wrong]
    print(f"{len(pairs)} runs of {len(lines)} commands on {len(names)} files, "
          f"{len(problems)} problems")
    return problems


def make_session(sonde, folder):
    """A session whose recorder was killed; a copy of it for each try."""
    good = os.path.join(folder, "session")
    code = ("import ctypes, os, time\n"
            "os.kill(os.getppid(), 9)\n"
            "roctx = ctypes.CDLL('libroctx64.so')\n"
            "for i in range(30000): roctx.roctxMarkA(b'mark %d' % i)\n"
            "os._exit(0)\n")
    subprocess.run([sonde, "record", "-q", "--spool-dir", folder, "-o", os.path.join(folder, "t.rpd"),
                    "--", sys.executable, "-c", code], check=False)
    time.sleep(1)  # the program goes on for a moment without its recorder
    made = [name for name in os.listdir(folder) if name.startswith("sonde-")]
    os.rename(os.path.join(folder, made[0]), good)
    return good


def try_sessions(sonde, recorder, folder):
    # A program cannot be traced with libraries built for a sanitizer: the release build does it.
    good = make_session(recorder if os.path.exists(recorder) else sonde, folder)
    assert any(name.startswith("p") for name in os.listdir(good)), "a session without a spool"
    problems = []
    total = 40
    for i in range(total):
        session = os.path.join(folder, f"bad{i}")
        shutil.copytree(good, session)
        if i % 4 == 0:
            control = os.path.join(session, "control")
            with open(control, "rb") as file:
                data = file.read()
            with open(control, "wb") as file:
                file.write(data[:i * 7] if i % 8 == 0 else damage.flip(data, damage.random.Random(i), i))
        elif i % 4 == 1:
            with open(os.path.join(session, "output"), "wb") as file:
                file.write([b"", b"\0" * 100, b"/proc/self/mem", b"relative", b"x" * 5000][i // 4 % 5])
        else:
            damage.damage_session(session, i)
        result = run(sonde, ["recover", session, "-o", os.path.join(folder, f"o{i}.rpd")], folder)
        err = result.stderr.decode("utf-8", "replace")
        if result.returncode not in (0, 1) or STRANGE.search(err):
            problems.append(f"session {i}: exit {result.returncode}: {err[-300:]}")
        elif result.returncode == 1 and len(err.splitlines()) != 1:
            problems.append(f"session {i}: not one line: {err!r}")
        elif result.returncode == 0:
            database = sqlite3.connect(os.path.join(folder, f"o{i}.rpd"))
            if database.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
                problems.append(f"session {i}: the trace is damaged")
            database.close()
    print(f"{total} sessions, {len(problems)} problems")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--good", help="the trace to damage, instead of a small one")
    parser.add_argument("--flips", type=int, default=6, help="files with some flipped bits")
    parser.add_argument("--part", default="1/1", help="which share of the runs, \"2/3\": a sanitizer is slow")
    parser.add_argument("--sessions", action="store_true")
    parser.add_argument("--recorder", default="", help="makes the session that is damaged")
    options = parser.parse_args()
    os.makedirs(options.folder)
    if options.sessions:
        problems = try_sessions(options.sonde, options.recorder, options.folder)
    else:
        problems = try_files(options.sonde, options.good, options.flips, options.folder, options.part)
    for problem in problems[:30]:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
