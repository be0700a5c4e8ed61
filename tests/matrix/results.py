"""What was found in each root, kept beside it, and the table of it. Used by matrix.py.

ROOTS/SUITE.json: {"commit", "date", "versions": {...}, "areas": {NAME: {"state", "text", "seconds",
"commit", "date", "failed": [...], "skipped": [...], "figures": {TEST: "..."}}}, "left_out": [...]}. A state
is passed, failed, late (over its limit), or missing (no test of it was built). Figures are what a test has
printed after "figures: ", which is the same on all suites.
"""

import json
import os
import re
import tomllib
import xml.etree.ElementTree as xml
from pathlib import Path

# What the columns of the table stand for: the version of each package.
VERSIONS = {"g++": "g++", "CMake": "cmake", "Python": "python3", "HIP": "libamdhip64-dev",
            "ROCr": "libhsa-runtime-dev", "rocm-smi": "librocm-smi-dev", "PyTorch": "libtorch-dev"}


def load(path):
    try:
        return json.loads(Path(path).read_text())
    except FileNotFoundError:
        return {"areas": {}}


def save(path, found):
    part = Path(f"{path}.part")
    part.write_text(json.dumps(found, indent=1) + "\n")
    os.replace(part, path)


def is_done(found, area, commit):
    """Whether the area has passed with this commit, so that it need not run again."""
    kept = found["areas"].get(area, {})
    return kept.get("commit") == commit and kept.get("state") == "passed"


def of_tests(junit, summarise):
    """State, text, failed and skipped of a junit file; summarise is that of tests/support."""
    tests = list(xml.parse(junit).iter("testcase"))
    passed, failed, skipped = summarise(tests)
    if passed + len(failed) == 0:
        return {"state": "missing", "text": "nothing to run", "failed": [], "skipped": skipped}
    text = f"{passed} passed" if not failed else f"{len(failed)} of {passed + len(failed)} FAILED"
    return {"state": "failed" if failed else "passed", "text": text, "failed": failed, "skipped": skipped,
            "figures": figures_of(tests)}


def figures_of(tests):
    printed = {test.get("name"): re.search(r"^figures: (.+)$", test.findtext("system-out") or "", re.M)
               for test in tests}
    return {name: match.group(1) for name, match in printed.items() if match}


def of_status(status, junit, summarise):
    """The same of an area that has ended with the status (None: not within its limit)."""
    if status is None:
        return {"state": "late", "text": "over its LIMIT", "failed": [], "skipped": []}
    if junit is not None:
        try:
            return of_tests(junit, summarise)
        except (FileNotFoundError, xml.ParseError):
            if status != 0:
                return {"state": "missing", "text": "no such test", "failed": [], "skipped": []}
    state = "passed" if status == 0 else "failed"
    return {"state": state, "text": "passed" if status == 0 else f"FAILED ({status})", "failed": [],
            "skipped": []}


def plain_version(text):
    """1:6.4.3+dfsg-5 -> 6.4.3"""
    match = re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", text)
    return match.group(1) if match else text


def versions_of(listing):
    """Of lines "package version"."""
    installed = dict(line.split(" ", 1) for line in listing.splitlines() if " " in line)
    versions = {name: plain_version(installed[package]) for name, package in VERSIONS.items()
                if package in installed}
    tools = [package for package in installed if re.fullmatch(r"llvm-\d+-dev", package)]
    if tools:
        versions["LLVM"] = "/".join(plain_version(installed[package]) for package in sorted(tools))
    return versions


def load_known(path):
    """[[known]] suite, test (a regular expression), why: what is understood and not yet mended."""
    with open(path, "rb") as file:
        return tomllib.load(file).get("known", [])


def why(known, suite, test):
    for entry in known:
        if suite in entry["suites"] and re.search(entry["test"], test):
            return entry["why"]
    return None


def table(suites, found, areas, markdown=False):
    """Suite by area; versions first."""
    rows = [["", *suites]]
    for name in [*VERSIONS, "LLVM"]:
        rows.append([name, *(found[suite].get("versions", {}).get(name, "-") for suite in suites)])
    for area in areas:
        cells = []
        for suite in suites:
            kept = found[suite]["areas"].get(area.name)
            text = "-" if kept is None else f"{kept['text']}, {kept['seconds']:.0f} s"
            is_older = kept is not None and kept.get("commit") != found[suite].get("commit")
            cells.append(f"{text} ({kept['commit'][:8]})" if is_older and kept.get("commit") else text)
        rows.append([area.name, *cells])
    rows.append(["commit", *(found[suite].get("commit", "-")[:10] for suite in suites)])
    rows.append(["on", *(found[suite].get("date", "-") for suite in suites)])
    if markdown:
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def remarks(suite, found, known):
    """What a table cannot show: lines on what failed and why, what was skipped, what was left out."""
    lines = []
    for area, kept in found["areas"].items():
        if kept["state"] != "passed" and not kept["failed"]:
            reason = why(known, suite, area)
            lines.append(f"{suite}: {area}: {kept['text']}" + (f": {reason}" if reason else ""))
        for test in kept["failed"]:
            reason = why(known, suite, test)
            lines.append(f"{suite}: FAILED {test}: {reason or 'not explained'}")
        lines += [f"{suite}: skipped {test}" for test in kept["skipped"]]
    lines += [f"{suite}: left out: {what}" for what in found.get("left_out", [])]
    return lines


def compared(suites, found):
    """Lines on the figures of tests that more than one suite has: how many are equal, and which are not."""
    by_test = {}
    for suite in suites:
        for kept in found[suite]["areas"].values():
            for test, figures in kept.get("figures", {}).items():
                by_test.setdefault(test, {})[suite] = figures
    by_test = {test: of for test, of in by_test.items() if len(of) > 1}
    differ = {test: of for test, of in by_test.items() if len(set(of.values())) > 1}
    lines = [f"figures of {test} differ: " + "; ".join(f"{suite} {text}" for suite, text in of.items())
             for test, of in differ.items()]
    if by_test:
        lines.append(f"figures of {len(by_test) - len(differ)} of {len(by_test)} recorded programs are the same on"
                     f" {', '.join(suites)}")
    return lines


def is_green(found, areas):
    return all(found["areas"].get(area.name, {}).get("state") == "passed" for area in areas)
