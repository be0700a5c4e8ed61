#!/usr/bin/python3
"""Records a HIP program on the software GPU and holds the .rpd against the GPU's own log
(softgpu/device/LOG.md): the same kernels with the same grids, the same copies with the same bytes,
in the order of their queues, at the same times.

    oracle_test.py --build BUILD [--gpu GPU] [--config FILE] PROGRAM [ARGUMENT...]

Times differ by the conversion of clocks; 99 of 100 must be within 5 us. Of copies only the ends are
compared: for ROCr a copy begins with the time stamp in front of its waits, for the log after them."""
import argparse
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict

MOST_NS = 5_000


def log_of(path):
    """Kernels and copies: lists of (gpu, key, start, end)."""
    kernels, copies = [], []
    for text in path.read_text().splitlines():
        line = json.loads(text)
        if line["line"] != "op":
            continue
        if line["engine"] == "aql" and line["kind"] == "kernel":
            if line.get("name"):  # ROCr's own have no name, and serve copies that it times itself
                key = (line["name"], *line["grid"], *line["group"])
                kernels.append((line["gpu"], key, line["start_ns"], line["end_ns"]))
        elif line["kind"] in ("copy", "copy_rect"):
            copies.append((line["gpu"], (line["bytes"],), line["start_ns"], line["end_ns"]))
    return kernels, copies


def trace_of(path):
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    rows = database.execute(
        "SELECT o.gpuId, n.string, t.string, o.start, o.end, d.bytes, d.grid_x, d.grid_y, d.grid_z,"
        " d.group_x, d.group_y, d.group_z FROM rocpd_op o"
        " JOIN rocpd_string n ON n.id = o.description_id JOIN rocpd_string t ON t.id = o.opType_id"
        " LEFT JOIN sonde_op_detail d ON d.op_id = o.id").fetchall()
    kernels, copies = [], []
    for gpu, name, kind, start, end, size, *axes in rows:
        if kind.startswith("Copy"):
            copies.append((gpu, (size,), start, end))
        elif name:
            kernels.append((gpu, (name, *(axis or 1 for axis in axes)), start, end))
    drops = database.execute("SELECT count(*) FROM sonde_drop").fetchone()[0]
    return kernels, copies, drops


def compare(what, log, trace, check_start):
    """Problems, and how far the times are apart. Equal ops are paired in the order of their ends."""
    counted = Counter(row[:2] for row in log), Counter(row[:2] for row in trace)
    problems = [f"{what}: the log has {counted[0][key]}, the trace {counted[1][key]} of {key}"
                for key in {*counted[0], *counted[1]} if counted[0][key] != counted[1][key]]
    apart = []
    by_key = defaultdict(lambda: ([], []))
    for side, rows in enumerate((log, trace)):
        for gpu, key, start, end in rows:
            by_key[gpu, key][side].append((end, start))
    for mine, theirs in by_key.values():
        for (end, start), (traced_end, traced_start) in zip(sorted(mine), sorted(theirs)):
            apart.append(abs(end - traced_end))
            if check_start:
                apart.append(abs(start - traced_start))
    return problems, apart


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--gpu", default="gfx90a")
    parser.add_argument("--config")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde-oracle-") as folder:
        trace, log = pathlib.Path(folder, "t.rpd"), pathlib.Path(folder, "log")
        configured = ["--config", options.config] if options.config else []
        subprocess.run([options.build / "bin/sonde", "record", "-q", "-o", trace, "--",
                        options.build / "bin/softgpu", "--gpu", options.gpu, *configured, "--log",
                        log, "--", *options.program], check=True, stdout=subprocess.DEVNULL)
        log_kernels, log_copies = log_of(log)
        kernels, copies, drops = trace_of(trace)
    problems, apart = compare("kernels", log_kernels, kernels, True)
    more, ends = compare("copies", log_copies, copies, False)
    problems += more
    apart = sorted(apart + ends)
    if not apart:
        problems.append("nothing to compare")
    else:
        late = apart[min(len(apart) - 1, len(apart) * 99 // 100)]
        print(f"{len(kernels)} kernels, {len(copies)} copies; times apart: median "
              f"{apart[len(apart) // 2]} ns, p99 {late} ns, most {apart[-1]} ns")
        if late > MOST_NS:
            problems.append(f"p99 of the times is {late} ns apart, more than {MOST_NS}")
    if drops:
        problems.append(f"{drops} kinds of drops")
    print("\n".join(problems[:20]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
