#!/usr/bin/python3
"""Traces in JSON: into an .rpd with all arguments, and `sonde top` on the JSON itself, against a bare
simdjson walk of the same file in the same run. On a generated trace of 1 M events and on the largest
real ones there are. Memory is the peak of anonymous memory, as a share of the JSON's size."""
# runs: 3
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from measuring import BUILD, FOLDER, SONDE, row

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from process_memory import anonymous_bytes  # noqa: E402

SHARED = pathlib.Path(os.environ.get("SONDE_SHARED",
                                     pathlib.Path(__file__).resolve().parents[3] / "shared"))
HELPER = f"{BUILD}/tests/programs/kineto_json"
EVENTS = 1_000_000
LARGEST = 2  # real traces


def measure(command):
    """(wall s, CPU s, peak anonymous bytes)"""
    started, peak = time.monotonic(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, anonymous_bytes(process.pid))
        time.sleep(0.002)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} {command[1]} ended with {process.returncode}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, peak


def bench(label, path):
    size = path.stat().st_size
    walk = json.loads(subprocess.run([HELPER, "walk", str(path)], check=True,
                                     capture_output=True).stdout)
    output = FOLDER / "imported.rpd"
    output.unlink(missing_ok=True)
    wall, cpu, memory = measure([SONDE, "top", str(path)])
    versus = f"bare walk: {size / walk['parse_s'] / 1e9:.2f} GB/s"
    row(f"{label}: JSON to memory", size / wall / 1e9, "GB/s", goal=0.6, better="higher",
        versus=versus)
    row(f"{label}: JSON to memory / bare walk", wall / walk["parse_s"], "x", goal=2,
        note="with start and report")
    row(f"{label}: JSON to memory, CPU / bare walk's", cpu / walk["parse_cpu_s"], "x",
        note="on two cores half of it is the time")
    row(f"{label}: JSON to memory, anonymous", memory / size, "of the JSON", goal=0.5)
    wall, cpu, memory = measure([SONDE, "import", str(path), "-o", str(output)])
    row(f"{label}: JSON to .rpd", walk["events"] / wall / 1e6, "M events/s", goal=0.5,
        better="higher", versus=versus)
    row(f"{label}: JSON to .rpd / bare walk", wall / walk["parse_s"], "x")
    row(f"{label}: JSON to .rpd, CPU / bare walk's", cpu / walk["parse_cpu_s"], "x")
    row(f"{label}: JSON to .rpd, anonymous", memory / size, "of the JSON", goal=0.5)
    output.unlink(missing_ok=True)


def main():
    generated = FOLDER / "generated.json"
    if not generated.exists():
        subprocess.run([HELPER, "generate", str(EVENTS), str(generated)], check=True)
    bench("generated, 1 M events", generated)
    real = sorted((SHARED / "data" / "kineto").glob("*.json.gz"), key=lambda p: p.stat().st_size)
    for packed in real[-LARGEST:]:
        unpacked = FOLDER / packed.stem
        if not unpacked.exists():
            with gzip.open(packed) as source, open(unpacked, "wb") as target:
                shutil.copyfileobj(source, target)
        bench(packed.name.removesuffix(".json.gz"), unpacked)


if __name__ == "__main__":
    main()
