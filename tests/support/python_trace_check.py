#!/usr/bin/python3
"""Every call of a Python program, against what it counted itself: python_trace_check.py SONDE PROGRAM
FOLDER. Also that its output, exit status and traceback are those of a run without Sonde. Under every
CPython that is here; missing versions are named."""

import collections
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cpu"))
import python_test  # noqa: E402
from tool_case import sql  # noqa: E402

CALLS = """SELECT tid, start, end, a.string FROM rocpd_api
JOIN rocpd_string a ON a.id = apiName_id JOIN rocpd_string d ON d.id = domain_id
WHERE d.string = 'python' ORDER BY start, -end"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def record(sonde, python, program, trace, which, *arguments):
    trace.unlink(missing_ok=True)
    return run(sonde, "record", "-q", "--sample", "off", "--python-trace", which, "-o", trace, "--",
               python, program, *arguments)


def calls_of(trace):
    return sql(trace, CALLS)


def function(text):
    """Without file, line and, as before 3.11, class and outer function."""
    return re.fullmatch(r".*\(\d+\): (.*)", text)[1].split(".")[-1]


def check_nesting(calls):
    open_calls = collections.defaultdict(list)
    inside = collections.Counter()
    for tid, start, end, text in calls:
        stack = open_calls[tid]
        while stack and stack[-1][1] <= start:
            stack.pop()
        if stack:
            assert end <= stack[-1][1], f"{text} ends after {stack[-1][2]}"
            inside[function(text), function(stack[-1][2])] += 1
        stack.append((start, end, text))
    assert inside["area", "main"] == 7 and inside["key", "sorts"] == 10
    assert inside["raises", "raises"] == 4 and inside["recurses", "recurses"] == 3000
    assert inside["plain", "worker"] == 200, inside


def check(sonde, python, program, folder):
    trace = Path(folder, "calls.rpd")
    plain = run(python, program, "fail")
    traced = record(sonde, python, program, trace, "user", "fail")
    assert (plain.returncode, plain.stdout, plain.stderr) == (
        traced.returncode, traced.stdout, traced.stderr), (plain, traced)
    traced = record(sonde, python, program, trace, "user")
    assert (traced.returncode, traced.stderr) == (0, ""), traced
    counted = json.loads(traced.stdout)
    expected = dict(zip((name.split(".")[-1] for name in counted["names"]), counted["counts"]))
    calls = calls_of(trace)
    found = collections.Counter(function(text) for _, _, _, text in calls)
    assert {name: found[name] for name in expected} == expected, (found, expected)
    assert not any("/lib/python3" in text or "<frozen" in text for _, _, _, text in calls)
    check_nesting(calls)
    total = len(calls)
    record(sonde, python, program, trace, "py_calls.*: .*(fib|area)$")
    found = collections.Counter(function(text) for _, _, _, text in calls_of(trace))
    assert found == {name: expected[name] for name in ("fib", "area")}, found
    for which in ("!: .*(fib|area)$", "user!: .*(fib|area)$"):
        record(sonde, python, program, trace, which)
        found = collections.Counter(function(text) for _, _, _, text in calls_of(trace))
        assert {name: found[name] for name in expected} == {**expected, "fib": 0, "area": 0}, found
        assert not any("/lib/python3" in text for _, _, _, text in calls_of(trace))
    record(sonde, python, program, trace, "all!(threading|importlib)")
    files = " ".join(text for _, _, _, text in calls_of(trace))
    assert "py_calls.py" in files and "/lib/python3" in files and "threading.py" not in files
    record(sonde, python, program, trace, "all")
    assert any("threading.py" in text for _, _, _, text in calls_of(trace))
    return f"{total} calls of {len(expected)} functions agree"


def main(sonde, program, folder):
    found = python_test.interpreters()
    print(*python_test.not_run(found), sep="\n")
    for version in python_test.VERSIONS:
        for python in found.get(version, []):
            print(f"{version} {python}: {check(sonde, python, program, folder)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
