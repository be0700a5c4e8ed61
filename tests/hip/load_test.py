#!/usr/bin/python3
"""Records a minute of steady load and watches the recorder's memory meanwhile.

    load_test.py --build BUILD [--launches N]

tests/hip/hip_storm.hip makes 200,000 launches and 50,000 calls of ten other kinds in 60 seconds. All
must be in the trace, nothing dropped, and the recorder must not grow: what it has at most in the
second half of the minute is not more than 4 MiB above what it had at most in the second quarter."""
import argparse
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

GROWTH_KB = 4096


def resident_kb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def watch(recorder):
    """Resident memory of the recorder, twice a second, until it ends."""
    sizes = []
    while recorder.poll() is None:
        sizes.append(resident_kb(recorder.pid))
        time.sleep(0.5)
    return [size for size in sizes if size]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--launches", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sonde-load-") as folder:
        trace = pathlib.Path(folder, "t.rpd")
        recorder = subprocess.Popen(
            [options.build / "bin/sonde", "record", "-q", "-o", trace, "--",
             options.build / "bin/softgpu", "--",
             options.build / "tests/programs/hip_storm", "load", str(options.launches)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        began = time.monotonic()
        sizes = watch(recorder)
        counts = json.loads(recorder.stdout.read())
        took = time.monotonic() - began
        database = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
        one = lambda sql: database.execute(sql).fetchone()[0]
        kernels = one("SELECT count(*) FROM sonde_kernel WHERE name LIKE '%nothing%'")
        linked = one("SELECT count(*) FROM rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id"
                     " JOIN rocpd_string n ON n.id = o.description_id WHERE n.string LIKE '%nothing%'")
        others = one("SELECT count(*) FROM rocpd_api a JOIN rocpd_string n ON n.id = a.apiName_id"
                     " WHERE n.string <> 'hipLaunchKernel'")
        drops = one("SELECT count(*) FROM sonde_drop")
        database.close()
        megabytes = os.path.getsize(trace) / 1e6
    sizes = sizes[:120]  # a minute: at the end the trace gets its indices
    quarter = len(sizes) // 4
    early, late = max(sizes[quarter:2 * quarter]), max(sizes[2 * quarter:])
    print(f"{kernels} of {counts['kernels']} kernels, {linked} linked, {others} other calls, {drops} "
          f"drops, {took:.0f} s; recorder: {early / 1024:.1f} MiB at most in the second quarter, "
          f"{late / 1024:.1f} MiB in the second half; trace {megabytes:.0f} MB")
    # A few calls prepare and end the program.
    good = (kernels == linked == counts["kernels"] and drops == 0
            and counts["others"] <= others <= counts["others"] + 20 and late <= early + GROWTH_KB)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
