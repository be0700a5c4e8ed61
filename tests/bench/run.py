#!/usr/bin/python3
"""Runs the measurements of this folder and prints one table: run.py [--build DIR] [--filter REGEX].

With --against DIR each run is made with both builds in turn, so that both have the same neighbours,
and the table compares them: what costs more now than with an older build?

Every built program of *.cpp and every script *.py but three is a measurement; README.md says
what it prints. Exit status: 1 if one failed to run; a missed goal is shown, not an error.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
NOT_MEASUREMENTS = ("run.py", "bench_test.py", "measuring.py")
KEYS = {"name", "value", "unit", "goal", "better", "note", "versus"}


@dataclass
class Row:
    name: str
    unit: str
    values: list = field(default_factory=list)
    goal: float | None = None
    better: str = "lower"
    note: str = ""
    versus: str = ""

    @property
    def median(self):
        return statistics.median(self.values)

    def missed(self):
        if self.goal is None:
            return False
        return self.median > self.goal if self.better == "lower" else self.median < self.goal


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--filter", default="")
    parser.add_argument("--runs", type=int, default=3, help="runs of each measurement")
    parser.add_argument("--against", default="", help="compare with this build, run by run")
    parser.add_argument("--json", default="", help="also write the rows to this file")
    arguments = parser.parse_args()
    builds = [Path(arguments.build).resolve()]
    if arguments.against:
        builds.append(Path(arguments.against).resolve())
    rows_of, failed = [{} for _ in builds], []
    for name, command, runs in measurements(builds[0], arguments):
        for number in range(max(runs, arguments.runs) if arguments.against else runs):
            print(f"{name} {number + 1} ...", file=sys.stderr, flush=True)
            problems = run_once(command, builds, rows_of, number)
            if problems:
                failed += [f"{name}: {problem}" for problem in problems]
                break
    rows = rows_of[0]
    print(comparison(rows, rows_of[1]) if arguments.against else table(list(rows.values())))
    for problem in failed:
        print(f"FAILED {problem}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([vars(row) for row in rows.values()], indent=1))
    return 1 if failed else 0


def run_once(command, builds, rows_of, number):
    """One run with each build, the other one first every second time. Returns what went wrong."""
    problems = []
    pairs = list(zip(builds, rows_of))
    for build, rows in reversed(pairs) if number % 2 else pairs:
        own = [word.replace(str(builds[0]), str(build), 1) for word in command]
        if not os.path.exists(own[-1]):
            continue
        output, problem = measure(own, build)
        problem = problem or collect(output, rows)
        if problem:
            problems.append(f"{build}: {problem}")
    return problems


def comparison(rows, others):
    """Medians of both builds, and how much more or less the first takes."""
    lines = [["measurement", "median", "unit", "min..max", "against", "min..max", "more"]]
    for name, row in rows.items():
        if name not in others:
            continue
        other = others[name]
        more = f"{100 * (row.median / other.median - 1):+.1f} %" if other.median else ""
        lines.append([name, number(row.median), row.unit, spread(row), number(other.median),
                      spread(other), more])
    return aligned(lines, {1, 3, 4, 5, 6})


def measurements(build, arguments):
    """(name, command, runs); a line "// runs: N" or "# runs: N" in the source overrides --runs."""
    for source in sorted(FOLDER.glob("*")):
        if source.suffix not in (".cpp", ".c", ".py") or source.name in NOT_MEASUREMENTS:
            continue
        if not re.search(arguments.filter, source.stem):
            continue
        command = [sys.executable, str(source)]
        if source.suffix != ".py":
            command = [str(build / "tests" / "bench" / source.stem)]
            if not os.path.exists(command[0]):
                print(f"{source.stem}: not built here", file=sys.stderr)
                continue
        runs = re.search(r"^(?://|#) runs: (\d+)$", source.read_text(), re.MULTILINE)
        yield source.stem, command, int(runs.group(1)) if runs else arguments.runs


def measure(command, build):
    with tempfile.TemporaryDirectory(prefix="sonde-bench-") as folder:
        environment = {**os.environ, "SONDE": str(build / "bin" / "sonde"),
                       "SONDE_BUILD": str(build), "SONDE_BENCH_DIR": folder}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=folder,
                              env=environment)
    return done.stdout, f"exit status {done.returncode}" if done.returncode else ""


def collect(output, rows):
    """Adds the values of one run to `rows`. Returns what is wrong with the output, or ''."""
    found = 0
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            return f"not JSON: {line}"
        if not {"name", "value", "unit"} <= set(entry) <= KEYS:
            return f"needs name, value, unit and of {sorted(KEYS)}: {line}"
        if entry.get("better", "lower") not in ("lower", "higher"):
            return f"better is lower or higher: {line}"
        row = rows.setdefault(entry["name"], Row(entry["name"], entry["unit"]))
        row.values.append(float(entry["value"]))
        row.goal = entry.get("goal", row.goal)
        row.better = entry.get("better", row.better)
        row.note = entry.get("note", row.note)
        row.versus = entry.get("versus", row.versus)
        found += 1
    return "" if found else "printed no measurement"


def table(rows):
    by_name = {row.name: row for row in rows}
    lines = [["measurement", "median", "unit", "min..max", "goal", "", "ratio", "note"]]
    for row in rows:
        ratio = ""
        if row.versus in by_name and by_name[row.versus].median:
            ratio = f"{row.median / by_name[row.versus].median:.2f} x {row.versus}"
        goal = verdict = ""
        if row.goal is not None:
            goal = f"{'<=' if row.better == 'lower' else '>='} {number(row.goal)}"
            verdict = "missed" if row.missed() else "met"
        lines.append([row.name, number(row.median), row.unit, spread(row), goal, verdict, ratio,
                      row.note])
    return aligned(lines, {1, 3, 4})


def spread(row):
    return f"{number(min(row.values))}..{number(max(row.values))}"


def aligned(lines, right):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.rjust(widths[i]) if i in right else cell.ljust(widths[i])
                  for i, cell in enumerate(line)).rstrip()
        for line in lines)


def number(value):
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


if __name__ == "__main__":
    sys.exit(main())
