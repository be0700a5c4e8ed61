#!/usr/bin/python3
"""Compares every cell of `sonde sol --all` with what another tool makes of the same counters.

    golden_test.py SONDE [SHARED]

SHARED/golden/compute holds the other tool's tables, unrounded, for workloads of SHARED/data/compute.
A number must be equal to 1e-12 of it, and an empty cell must be empty, but for the cells of
upstream_wrong.toml, which says why. An entry of that list that no cell needs is an error too.
Exits with 77 where the data are not there.
"""

import gzip
import json
import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOLERANCE = 1e-12
TEXTS = {"id", "Metric", "Channel", "Unit", "Units", "coll_level", "Xfer", "Coherency", "Type",
         "Transaction"}
# Columns of tables with a row for each channel, whose titles here leave out what the table says.
CHANNEL_COLUMNS = {
    "L2 Read": "read", "L2 Write": "write", "L2 Atomic": "atomic",
    "L2-Fabric Read": "read", "L2-Fabric Write and Atomic": "write", "L2-Fabric Atomic": "atomic",
    "L2-Fabric Read Stall (PCIe)": "pcie", "L2-Fabric Write Stall (PCIe)": "pcie",
    "L2-Fabric Read Stall (Infinity Fabric™)": "infinity_fabric",
    "L2-Fabric Write Stall (Infinity Fabric™)": "infinity_fabric",
    "L2-Fabric Read Stall (HBM)": "hbm", "L2-Fabric Write Stall (HBM)": "hbm",
    "L2-Fabric Write Starve": "starvation",
}


def main():
    sonde = sys.argv[1]
    root = HERE.parents[1]
    shared = Path(sys.argv[2] if len(sys.argv) > 2 else
                  os.environ.get("SONDE_SHARED", root.parent / "shared"))
    golden = sorted((shared / "golden/compute").glob("*.per_*.json.gz"))
    if not golden:
        print(f"skipped: no golden/compute in {shared}")
        return 77
    known = tomllib.loads((HERE / "upstream_wrong.toml").read_text())["cell"]
    for entry in known:
        entry["used"] = 0
    equal = wrong = excused = 0
    for path in golden:
        counts = compare(sonde, shared, path, known)
        equal, wrong, excused = equal + counts[0], wrong + counts[1], excused + counts[2]
    unused = [entry for entry in known if entry["used"] == 0]
    for entry in unused:
        print(f"upstream_wrong.toml: no cell needs {entry['workload']} {entry['ids']}")
    for entry in known:
        print(f"{entry['used']:6} cells: {entry['reason']} ({entry['ids']})")
    print(f"{equal} numbers equal to {TOLERANCE}, {excused} cells of upstream_wrong.toml, "
          f"{wrong} others differ")
    return 1 if wrong or unused or equal == 0 else 0


def compare(sonde, shared, path, known):
    """Counts of equal, different and excused cells of one file."""
    name, per = re.match(r"(.+)\.per_(\w+)\.json\.gz", path.name).groups()
    with gzip.open(path) as file:
        run = json.load(file)["runs"][0]
    folders = shared / "data/compute/workloads"
    folder = folders / name if (folders / name).is_dir() else folders / "vcopy" / name
    command = [sonde, "sol", folder, "--all", "--per", per, "--format", "json"]
    done = subprocess.run(command, capture_output=True, check=True)
    ours = json.loads(done.stdout)
    equal = wrong = excused = 0
    for number, rows in run["tables"].items():
        table = f"{int(number) // 100}.{int(number) % 100}"
        mine = {row["id"]: row for row in ours.get(table, [])}
        for row in rows:
            for column, expected in row.items():
                if column in TEXTS and column != "Channel":
                    continue
                if column == "Channel":
                    key = "metric"
                else:
                    key = CHANNEL_COLUMNS.get(column, column.lower().replace(" ", "_"))
                actual = mine.get(row["id"], {}).get(key)
                if key == "metric" and actual is not None:
                    actual = int(actual)
                if is_equal(expected, actual):
                    equal += isinstance(expected, (int, float))
                elif excuse(known, name, row["id"], column, expected, actual):
                    excused += 1
                else:
                    wrong += 1
                    if wrong <= 40:
                        print(f"{name} per {per}: {row['id']} {row.get('Metric', '')} {column}: "
                              f"{expected!r}, here {actual!r}")
    return equal, wrong, excused


def is_equal(expected, actual):
    if expected == "" or expected is None:
        return actual is None
    if actual is None or not math.isfinite(expected):
        return False
    return abs(expected - actual) <= TOLERANCE * max(abs(expected), abs(actual))


def excuse(known, workload, cell, column, expected, actual):
    """Whether an entry of the list is for this cell and for this kind of difference."""
    for entry in known:
        if not re.fullmatch(entry["workload"], workload) or not re.fullmatch(entry["ids"], cell):
            continue
        if "columns" in entry and column not in entry["columns"]:
            continue
        kind = entry["difference"]
        fits = {"infinite": lambda: expected in (math.inf, -math.inf) and actual is None,
                "missing": lambda: expected == "" and actual is not None,
                "other": lambda: expected != "" and actual is not None,
                }[kind]()
        if fits:
            entry["used"] += 1
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
