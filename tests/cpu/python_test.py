#!/usr/bin/python3
"""Python frames in sampled stacks: python_test.py BUILD_FOLDER [MILLISECONDS].

Runs split.py under every CPython that is here (Debian's, local ones, those of pyenv), for 2500 ms each if nothing
else is said, samples it, and compares the share of each function with what the program measured, where
the share may differ by 2 points or by 4 sigma of the number of samples. A share is of the samples' CPU time, not
of their number: a virtual machine that stands still for 100 ms is one sample, and 100 ms of one function. Counts the
system calls of a sample, too, where strace is here. Versions that are missing are named, and so are those that are
here and not known to this test. Exit 77: there was none at all.
"""

import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSIONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
HZ = 1000
FRAMES = """
WITH RECURSIVE up(sample, id, depth) AS (
  SELECT id, stack_id, 0 FROM sonde_sample
  UNION ALL SELECT sample, parent_id, depth + 1 FROM up JOIN sonde_stack USING (id)
  WHERE parent_id IS NOT NULL)
SELECT sample, cpu_ns, kind, function, file, line, is_library FROM up JOIN sonde_stack USING (id)
JOIN sonde_frame f ON f.id = frame_id JOIN sonde_sample s ON s.id = sample ORDER BY sample, depth
"""

# Frames that fill three pages, of two code objects.
DEEP = """
def deep(n):
    total = 0
    for i in range(10 if n else 5_000_000):
        total += i * i % 7
    return deep(n - 1) if n else total
deep(99)
"""


def interpreters():
    """{"3.11": [path ...]}: Debian's and pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    candidates = [path for folder in ("/usr/bin", "/usr/local/bin")
                  for path in sorted(Path(folder).glob("python3.*[0-9]"))]
    candidates += sorted(pyenv.glob("*/bin/python3"))
    found = {}
    for path in candidates:
        if not path.exists():
            continue
        text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        match = re.match(r"Python (3\.\d+)\.", text)
        if match:
            found.setdefault(match[1], []).append(path)
    return found


def not_run(found):
    """A line for each version that is missing or not known."""
    yield from (f"skip {version}: no such interpreter here"
                for version in VERSIONS if version not in found)
    yield from (f"skip {version} {path}: not of {VERSIONS[0]} to {VERSIONS[-1]}"
                for version, paths in found.items() if version not in VERSIONS for path in paths)


def record(build, python, folder, *arguments):
    """The stacks, innermost frame first, the CPU time of each, and what the program measured."""
    trace = Path(folder, "t.rpd")
    trace.unlink(missing_ok=True)
    run = subprocess.run(
        [Path(build, "bin", "sonde"), "record", "-q", "--sample", str(HZ), "-o", trace, "--",
         python, HERE / "split.py", *arguments], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0 and run.stderr == "", run.stderr
    stacks, cpu_ns = {}, {}
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        for sample, cpu_ns[sample], *frame in database.execute(FRAMES):
            stacks.setdefault(sample, []).append(frame)
    return list(stacks.values()), list(cpu_ns.values()), json.loads(run.stdout)


def names(stack):
    return [frame[1] for frame in stack if frame[0] == "python"]


def check_shares(stacks, cpu_ns, spent):
    sampled = {name: sum(ns for stack, ns in zip(stacks, cpu_ns) if name in names(stack)) for name in spent}
    weights = [ns for stack, ns in zip(stacks, cpu_ns) if any(name in spent for name in names(stack))]
    # A sample that stands for 100 ms weighs as much as a hundred others, and is one throw of the dice.
    independent = sum(weights) ** 2 / sum(ns ** 2 for ns in weights)
    measured = sum(spent.values())
    for name, ns in spent.items():
        expected, share = ns / measured, sampled[name] / sum(sampled.values())
        allowed = max(0.02, 4 * (expected * (1 - expected) / independent) ** 0.5)
        assert abs(share - expected) <= allowed, (
            f"{name}: {share:.3f} of {len(weights)} samples, as good as {independent:.0f} equal ones, "
            f"measured {expected:.3f}")
    return len(weights)


def check_merged(stacks):
    """Python's frames are between the native ones that they were called from and called."""
    work = [stack for stack in stacks if "work" in names(stack)]
    lines = (HERE / "split.py").read_text().splitlines()
    loops = mixed = 0
    for stack in work:
        python = names(stack)
        # Up to 3.10 a code object does not know its class.
        assert python[-1] in ("<module>", "_bootstrap", "Thread._bootstrap"), python
        loops += any(frame[1] == "_PyEval_EvalFrameDefault" for frame in stack)
        kinds = [frame[0] for frame in stack]
        if "key_of_ten" in python:
            inner = [frame[1] for frame in stack].index("key_of_ten")
            outer = [frame[1] for frame in stack].index("ten")
            assert inner < outer, python
            mixed += "native" in kinds[inner:outer]
        for kind, function, file, line, library in stack:
            if kind == "python" and file.endswith("split.py"):
                assert not library
                text = lines[line - 1]
                if function == "ten":
                    assert "sorted" in text or "def" in text, line
                if function == "sixty":
                    assert any(word in text for word in ("total", "for i", "def")), line
            elif kind == "python":
                assert library, file
    assert loops <= 0.02 * len(work), f"{loops} of {len(work)} stacks show the interpreter's loop"
    assert mixed > 0, "no native frame between ten and key_of_ten"
    return work


def check_questions(build, python, folder):
    """A sample asks whether pages exist, but not for those with frames of the thread that started Python."""
    log = Path(folder, "calls")
    subprocess.run(["strace", "-f", "-o", log, "-e", "trace=rt_sigprocmask,rt_sigreturn",
                    Path(build, "bin", "sonde"), "record", "-q", "--sample", str(HZ), "-o", Path(folder, "d.rpd"), "--",
                    python, "-c", DEEP], check=True, timeout=120)
    questions, asked = [], {}
    for thread, line in re.findall(r"^(\d+) +(.*)", log.read_text(), re.M):
        if line.startswith("--- SIG"):
            asked[thread] = 0
        elif line.startswith("rt_sigprocmask(0xffffffff") and thread in asked:
            asked[thread] += 1
        elif line.startswith("rt_sigreturn") and thread in asked:
            questions.append(asked.pop(thread))
    assert len(questions) > 100, len(questions)
    median = statistics.median(questions[-100:])
    assert median <= 4, f"{median} questions in a sample, of two code objects in up to four pages"


def test(build, version, python, folder, milliseconds):
    stacks, cpu_ns, spent = record(build, python, folder, milliseconds)
    total = check_shares(stacks, cpu_ns, spent)
    check_merged(stacks)
    stacks, cpu_ns, spent = record(build, python, folder, "400", "4")
    assert len(check_merged(stacks)) > 0
    check_shares(stacks, cpu_ns, spent)
    if version not in ("3.8", "3.9", "3.10") and shutil.which("strace"):
        check_questions(build, python, folder)
    return total


def main(build, milliseconds="2500"):
    found = interpreters()
    failed = 0
    print(*not_run(found), sep="\n")
    for version in VERSIONS:
        for python in found.get(version, []):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    print(f"ok   {version} {python}: {test(build, version, python, folder, milliseconds)} samples")
                except AssertionError as error:
                    failed += 1
                    print(f"FAIL {version} {python}: {error}")
    return 1 if failed else 0 if set(found) & set(VERSIONS) else 77


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
