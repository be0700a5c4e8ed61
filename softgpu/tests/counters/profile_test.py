#!/usr/bin/env python3
"""sonde profile on the kernels of kernels.toml: each counter, in total and per shader engine, has the known value;
there are as many passes as planned; the program prints the same as without Sonde. All of that twice: running the
program again for each pass, and running each kernel again in one run (--replay).

  profile_test.py --sonde build/bin/sonde --softgpu build/bin/softgpu --hsa build/tests/softgpu/run_hsa

Exit status: 0 all are equal, 1 some differ, 77 there is no clang that assembles for AMD GPUs.
"""
import argparse
import collections
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import tomllib

import count_test

# Modelled; each counted kernel starts with an empty L2, so they are the same both ways.
CACHES = ("TCC_REQ", "TCC_HIT", "TCC_MISS", "TCC_READ", "TCC_WRITE", "TCC_WRITEBACK", "TCC_EA_RDREQ", "TCC_EA_WRREQ")

SUMS = """SELECT k.string, n.string, sum(c.value) FROM rocpd_counter c JOIN rocpd_op o ON o.id = c.op_id
          JOIN rocpd_string k ON k.id = o.description_id JOIN rocpd_string n ON n.id = c.name_id GROUP BY 1, 2"""
PARTS = """SELECT k.string, n.string, c.engine, sum(c.value), max(c.pass) FROM sonde_op_counter c
           JOIN rocpd_op o ON o.id = c.op_id JOIN rocpd_string k ON k.id = o.description_id
           JOIN rocpd_string n ON n.id = c.name_id GROUP BY 1, 2, 3"""


def profile(args, folder, code, names, lines, replay):
    """The trace, and the program's output."""
    with open(os.path.join(folder, "lines"), "w") as file:
        file.write(lines)
    program = ["sh", "-c", '"$0" "$1" < "$2"', args.hsa, code, file.name]
    trace = os.path.join(folder, "replay.rpd" if replay else "trace.rpd")
    ran = subprocess.run([args.sonde, "profile", *(["--replay"] if replay else []), "--gpu", "gfx90a", "--counter", ",".join(names), "-o", trace, "--",
                          args.softgpu, "--engine", "isa", "--"] + program,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=500)
    if ran.returncode != 0:
        sys.exit(f"sonde profile: status {ran.returncode}\n{ran.stderr}")
    alone = subprocess.run([args.softgpu, "--engine", "isa", "--"] + program, stdout=subprocess.PIPE, text=True,
                           timeout=100)
    return trace, ran, alone.stdout


def differences(kernels, database, exact):
    sums = {(kernel, counter): value for kernel, counter, value in database.execute(SUMS)}
    parts = collections.defaultdict(dict)
    for kernel, counter, engine, value, _ in database.execute(PARTS):
        parts[kernel, counter][engine] = value
    wrong = []
    for kernel in kernels:
        name = kernel["name"]
        for counter, value in kernel["counts"].items():
            if sums.get((name, counter)) != value:
                wrong.append(f"{name}: {counter} {sums.get((name, counter))}, and not {value}")
        for counter, values in kernel.get("engines", {}).items():
            got = [parts[name, counter].get(engine) for engine in range(8)]
            if got != values:
                wrong.append(f"{name}: {counter} {got}, and not {values}")
        missing = [counter for counter in exact if (name, counter) not in sums]
        if missing:
            wrong.append(f"{name}: not counted: {' '.join(missing)}")
    wrong += [f"{key}: sum {sums[key]}, parts {found}" for key, found in parts.items()
              if sums[key] != sum(found.values())]
    return wrong


def listed_otherwise():
    """Counters whose block, number or class differs between Sonde's list and softgpu's."""
    classes = {"kExact": "exact", "kModelled": "modelled", "kRefused": "no"}
    here = {(name, block, f"gfx90a={event}", classes[kind]) for name, block, event, kind in count_test.table()}
    listed = set()
    with open(os.path.join(count_test.HERE, "../../../src/metrics/counters.ini")) as lines:
        for line in lines:
            parts = [part.strip() for part in line.split(" | ")]
            if len(parts) == 6:
                listed.add((parts[0], parts[1], parts[2].split()[0], parts[4]))
    return [f"only in one of the two lists: {row}" for row in sorted(here ^ listed)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--softgpu", required=True)
    parser.add_argument("--hsa", required=True)
    args = parser.parse_args()
    with open(os.path.join(count_test.HERE, "kernels.toml"), "rb") as file:
        kernels = tomllib.load(file)["kernel"]
    folder = tempfile.mkdtemp(prefix="sonde profile ")
    code = count_test.assemble(kernels, folder)
    if code is None:
        print("skipped: no clang assembles for AMD GPUs")
        return 77
    wrong = listed_otherwise()
    sums = []
    for replay in (False, True):
        found, counted = run(args, folder, code, kernels, replay)
        wrong += found
        sums.append(counted)
    wrong += [f"{key}: {sums[0].get(key)} by running again, {sums[1].get(key)} by replay"
              for key in sums[0].keys() | sums[1].keys() if sums[0].get(key) != sums[1].get(key)]
    shutil.rmtree(folder)
    for each in wrong:
        print(each)
    return 1 if wrong else 0


def run(args, folder, code, kernels, replay):
    """What is wrong, and the sums of all counters."""
    exact = sorted(count_test.exact_counters())
    names = sorted(set(exact) | {counter for kernel in kernels for counter in kernel["counts"]} | set(CACHES))
    lines = "".join(f"{kernel['name']} {kernel['items']} {kernel.get('group', 64)}\n" for kernel in kernels)
    trace, ran, alone = profile(args, folder, code, names, lines, replay)
    database = sqlite3.connect(trace)
    wrong = differences(kernels, database, exact)
    passes = database.execute("SELECT count(DISTINCT pass) FROM sonde_op_counter").fetchone()[0]
    what = "each kernel" if replay else "the command"
    if f"in {passes} passes: {what} runs {passes} times" not in ran.stderr:
        wrong.append(f"{passes} passes, but it said: {ran.stderr}")
    if ran.stdout != alone * (1 if replay else passes):
        wrong.append("the program printed something else than without Sonde")
    lost = database.execute("SELECT source, reason, count FROM sonde_drop").fetchall()
    if lost:
        wrong.append(f"lost: {lost}")
    counted = {(kernel, counter): value for kernel, counter, value in database.execute(SUMS)}
    database.close()
    way = "by replay" if replay else "by running again"
    print(f"{way}: {len(kernels)} kernels, {len(names)} counters, {passes} passes: {len(wrong)} wrong")
    return [f"{way}: {each}" for each in wrong], counted


if __name__ == "__main__":
    sys.exit(main())
