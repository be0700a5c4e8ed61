#!/usr/bin/python3
"""A generated PyTorch trace of more than 5 GB, larger than simdjson's documents (4 GiB), is imported
whole with little memory: large_json.py --sonde PATH --helper kineto_json [--bytes N] [--folder DIR].

Prints one JSON object with the figures; exits with 77 where the disk has no room for both files."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from process_memory import anonymous_bytes  # noqa: E402
from tool_case import sql  # noqa: E402

SKIPPED = 77
ROUND = 10  # events that the helper writes for one launch: 7 calls, 1 kernel, 2 ends of an arrow
MEMORY_SHARE = 0.25  # of the JSON's size, at most; a file read whole would take more than all of it


def watched(command):
    """Runs it; what it printed, how long it took, and its peak of anonymous memory."""
    began, peak = time.monotonic(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, anonymous_bytes(process.pid))
            time.sleep(0.05)
        printed = process.stdout.read()
    if process.returncode != 0:
        sys.exit(f"{command[:2]} ended with {process.returncode}")
    return printed, time.monotonic() - began, peak


def generate(helper, folder, size):
    """A trace of at least `size` bytes, and how many rounds it has."""
    path = folder / "large.json"
    subprocess.run([helper, "generate", "10000", path], check=True)
    rounds = size * 1000 // path.stat().st_size + 1000
    subprocess.run([helper, "generate", str(rounds * ROUND), path], check=True)
    return path, rounds


def check(imported, rounds):
    kernel_ns = sum(6125 + i % 64 * 100 for i in range(rounds))
    expected = {
        "SELECT count(*) FROM rocpd_op": rounds,
        "SELECT count(*) FROM rocpd_api": 7 * rounds,
        "SELECT count(*) FROM rocpd_api_ops": rounds,
        "SELECT sum(end - start) FROM rocpd_op": kernel_ns,
        "SELECT sum(value) FROM sonde_note WHERE key LIKE 'events %'": rounds * ROUND + 1,
        "SELECT value FROM sonde_note WHERE key = 'baseTimeNanoseconds'": "1751410836000000000",
        "SELECT count(*) FROM sonde_diagnostic WHERE severity = 'warning'": 0,
    }
    for query, should in expected.items():
        found = sql(imported, query)[0][0]
        if found != should:
            sys.exit(f"{query}: {found}, not {should}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--helper", required=True)
    parser.add_argument("--bytes", type=int, default=5_000_000_000)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    options = parser.parse_args()
    if shutil.disk_usage(options.folder).free < 4 * options.bytes:
        print(f"skipped: {options.folder} has less than {4 * options.bytes} bytes free")
        return SKIPPED
    os.environ["TMPDIR"] = options.folder  # where indices are sorted
    with tempfile.TemporaryDirectory(prefix="sonde_large.", dir=options.folder) as name:
        folder = pathlib.Path(name)
        path, rounds = generate(options.helper, folder, options.bytes)
        imported = folder / "large.rpd"
        printed, seconds, peak = watched([options.sonde, "import", path, "-o", imported])
        if "nothing skipped" not in printed:
            sys.exit(printed)
        check(imported, rounds)
        size = path.stat().st_size
        print(json.dumps({"bytes": size, "events": rounds * ROUND, "seconds": round(seconds, 1),
                          "rpd_bytes": imported.stat().st_size, "anonymous_bytes": peak,
                          "share": round(peak / size, 4)}))
        if peak > MEMORY_SHARE * size:
            sys.exit(f"{peak} bytes of memory for {size} bytes of JSON")
    return 0


if __name__ == "__main__":
    sys.exit(main())
