#!/usr/bin/python3
"""One paragraph on a ctest run, for ./dev test: summarise.py NAME JUNIT_FILE SECONDS.

Names what failed and what was skipped: whole tests, cases of an end-to-end suite, and single gtest
or unittest tests, which ctest itself does not know of.
"""

import re
import sys
import xml.etree.ElementTree as xml

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


def paragraph(stage, seconds, passed, failed, skipped):
    lines = [f"{stage:12} {passed} passed, {len(failed)} failed, {len(skipped)} skipped, {seconds} s"]
    lines += [f"    FAILED  {name}" for name in failed]
    lines += [f"    skipped {name}" for name in skipped]
    return "\n".join(lines)


if __name__ == "__main__":
    print(paragraph(sys.argv[1], sys.argv[3], *summarise(xml.parse(sys.argv[2]).iter("testcase"))))
