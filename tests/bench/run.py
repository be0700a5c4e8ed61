#!/usr/bin/python3
"""Runs the measurements of this folder and prints one table: run.py [--build DIR] [--filter REGEX].

Every built program of *.cpp and every script *.py but this one is a measurement; README.md says what
it prints. Exit status: 1 if one failed to run; a missed goal is shown, not an error.
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
    parser.add_argument("--json", default="", help="also write the rows to this file")
    arguments = parser.parse_args()
    rows, failed = {}, []
    for name, command, runs in measurements(Path(arguments.build).resolve(), arguments):
        for number in range(runs):
            print(f"{name} {number + 1}/{runs} ...", file=sys.stderr, flush=True)
            output, problem = measure(command, Path(arguments.build).resolve())
            problem = problem or collect(output, rows)
            if problem:
                failed.append(f"{name}: {problem}")
                break
    print(table(list(rows.values())))
    for problem in failed:
        print(f"FAILED {problem}")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([vars(row) for row in rows.values()], indent=1))
    return 1 if failed else 0


def measurements(build, arguments):
    """(name, command, runs); a line "// runs: N" or "# runs: N" in the source overrides --runs."""
    for source in sorted(FOLDER.glob("*")):
        if source.suffix not in (".cpp", ".c", ".py") or source.name in ("run.py", "bench_test.py"):
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
        environment = {**os.environ, "SONDE": str(build / "bin" / "sonde"), "SONDE_BUILD": str(build),
                       "SONDE_BENCH_DIR": folder}
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
        goal = "" if row.goal is None else f"{'<=' if row.better == 'lower' else '>='} {number(row.goal)}"
        verdict = "" if row.goal is None else ("missed" if row.missed() else "met")
        spread = f"{number(min(row.values))}..{number(max(row.values))}"
        lines.append([row.name, number(row.median), row.unit, spread, goal, verdict, ratio, row.note])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    right = {1, 3, 4}
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
