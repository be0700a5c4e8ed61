#!/usr/bin/python3
"""One paragraph on a ctest run, for ./dev test: summarise.py NAME JUNIT_FILE SECONDS.

Names what failed and what was skipped: whole tests, cases of an end-to-end suite, and single gtest
or unittest tests, which ctest itself does not know of. What the build left out because a package is
missing is in left_out.txt beside the file (cmake/optional.cmake), and is named too.
"""

import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

SKIPPED_INSIDE = (
    re.compile(r"^skip (?P<case>.+)$"),  # tests/e2e/run.py
    re.compile(r"^\[  SKIPPED \] (?P<case>\S+) \(\d+ ms\)$"),
    re.compile(r"^(?P<case>test\w+ .*) \.\.\. skipped"),
)


def summarise(tests):
    """(number passed, failed names, skipped names) of <testcase> elements."""
    passed, failed, skipped = 0, [], []
    for test in tests:
        name = test.get("name")
        whole = test.find("skipped")
        inside = [f"{name}: {case}" for case in skipped_inside(test.findtext("system-out") or "")]
        if test.get("status") == "run":
            passed += 1
            skipped += inside
        elif whole is not None and "SKIP_RETURN_CODE" in whole.get("message", ""):
            skipped += inside or [name]
        else:
            failed.append(name)
            skipped += inside
    return passed, failed, skipped


def skipped_inside(output):
    for line in output.splitlines():
        for pattern in SKIPPED_INSIDE:
            match = pattern.match(line)
            if match:
                yield match.group("case")


def left_out(junit):
    file = Path(junit).parent / "left_out.txt"
    return file.read_text().splitlines() if file.exists() else []


def paragraph(stage, seconds, passed, failed, skipped, missing):
    counts = f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped"
    lines = [f"{stage:12} {counts}, {seconds} s"]
    lines += [f"    FAILED  {name}" for name in failed]
    lines += [f"    skipped {name}" for name in skipped]
    lines += [f"    left out {what}" for what in missing]
    return "\n".join(lines)


if __name__ == "__main__":
    tests = xml.parse(sys.argv[2]).iter("testcase")
    print(paragraph(sys.argv[1], sys.argv[3], *summarise(tests), left_out(sys.argv[2])))
