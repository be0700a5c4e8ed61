#!/usr/bin/env python3
"""Checks the bounds that `sonde sol` reports for six kernels with well-known bounds (hip/bounds.hip), from counters
that `sonde profile` read by running the program again and by replay; compares these counters with the values that
follow from the program's sizes; and checks that the modelled ones are marked.

  bounds_test.py --sonde build/bin/sonde --program build/tests/softgpu/bounds

Exit status: 0 all are right, 1 some are not.
"""
import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

ITEMS, SIDE, TIMES, LARGE_SIDE, ORDER, GATHERED = 1 << 21, 960, 4, 2048, 256, 1 << 18
LINE = 64  # bytes of an access to the L1, and of a read from memory

BOUNDS = {
    "saxpy": ("memory bandwidth", "modelled counts"),
    "transpose_conflicts": ("LDS bank conflicts", "exact counts"),
    "transpose_padded": ("memory bandwidth", "modelled counts"),
    "product": ("LDS bandwidth", "exact counts"),
    "reduction": ("memory bandwidth", "modelled counts"),
    "gather": ("memory bandwidth", "modelled counts"),
}
# 32 lanes at once take 32 cycles for a column of the tile and 1 for a row.
COLUMNS = TIMES * SIDE * SIDE // 32
COUNTS = {
    ("saxpy", "SQ_WAVES"): ITEMS // 64,
    ("saxpy", "TCC_EA_RDREQ"): 2 * 4 * ITEMS // LINE,
    ("saxpy", "TCP_TOTAL_CACHE_ACCESSES"): 3 * 4 * ITEMS // LINE,
    ("saxpy", "SQ_LDS_IDX_ACTIVE"): 0,
    ("transpose_conflicts", "SQ_LDS_BANK_CONFLICT"): 31 * COLUMNS,
    ("transpose_conflicts", "SQ_LDS_IDX_ACTIVE"): 33 * COLUMNS,
    ("transpose_padded", "SQ_LDS_BANK_CONFLICT"): 0,
    ("transpose_padded", "SQ_LDS_IDX_ACTIVE"): 2 * LARGE_SIDE * LARGE_SIDE // 32,
    ("transpose_padded", "TCP_TOTAL_CACHE_ACCESSES"): 2 * 4 * LARGE_SIDE * LARGE_SIDE // LINE,
    ("product", "SQ_LDS_BANK_CONFLICT"): 0,
    ("product", "SQ_WAVES"): ORDER * ORDER // 64,
    ("reduction", "SQ_WAVES"): 512 * 256 // 64,
    ("gather", "SQ_WAVES"): GATHERED // 64,
}
SUMS = """SELECT k.string, n.string, sum(c.value) FROM rocpd_counter c JOIN rocpd_op o ON o.id = c.op_id
          JOIN rocpd_string k ON k.id = o.description_id JOIN rocpd_string n ON n.id = c.name_id GROUP BY 1, 2"""


def own_name(kernel):
    """The plain name for a mangled or plain one."""
    return next((name for name in BOUNDS if name in kernel), kernel)


def run(command):
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    if ran.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def bounds_of(sonde, trace, kernel):
    return json.loads(run([sonde, "sol", trace, "--kernel", kernel, "--format", "json"]))["bounds"]


def wrong_of(args, trace, way):
    """What is wrong in one of the ways to run all passes."""
    wrong = []
    printed = run([args.sonde, "profile", "--softgpu", *([way] if way else []), "-o", trace, "--", args.program])
    if set(printed.splitlines()) != {'{"checks": 6, "failures": 0}'}:
        wrong.append(f"the program printed {printed!r}")
    for kernel, (bound, trust) in BOUNDS.items():
        rows = bounds_of(args.sonde, trace, kernel)
        found = [(row["bound"], row.get("trust")) for row in rows]
        if found != [(bound, trust)]:
            wrong.append(f"{kernel}: bound by {found}, and not {bound} by {trust}")
        if any(not 60 <= row["of_bound"] <= 100 for row in rows):
            wrong.append(f"{kernel}: {rows}")
    database = sqlite3.connect(trace)
    sums = {(own_name(kernel), name): value for kernel, name, value in database.execute(SUMS)}
    database.close()
    wrong += [f"{key[0]}: {key[1]} {sums.get(key)}, and not {value}" for key, value in COUNTS.items()
              if sums.get(key) != value]
    if sums["gather", "TCP_TOTAL_CACHE_ACCESSES"] < GATHERED:
        wrong.append("gather: its lanes share lines, so it is not random")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--program", required=True)
    args = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="sonde bounds ") as folder:
        for way in ("", "--replay"):
            found = wrong_of(args, os.path.join(folder, f"trace{way}.rpd"), way)
            wrong += [f"{'by replay' if way else 'by running again'}: {each}" for each in found]
    for each in wrong:
        print(each)
    print(f"{len(BOUNDS)} kernels, {len(COUNTS)} counts, by running again and by replay: {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
