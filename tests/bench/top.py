#!/usr/bin/python3
"""`sonde top` on 10 million operations, whole process: CPU and wall time, the least of three runs,
since the first of a file that has just been written takes up to half as much again."""
# runs: 1
import json
import os
import resource
import subprocess
import time

BUILD = os.environ["SONDE_BUILD"]
SONDE = os.environ["SONDE"]
FILE = os.path.join(os.environ["SONDE_BENCH_DIR"], "ten_million.rpd")

subprocess.run([f"{BUILD}/tests/bench/export_bench", "20000000", "1", FILE], check=True,
               stdout=subprocess.DEVNULL)
times = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    subprocess.run([SONDE, "top", FILE], check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    times.append((wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
wall, cpu = map(min, zip(*times))
print(json.dumps({"name": "sonde top, 10 M ops", "value": wall, "unit": "s wall"}))
print(json.dumps({"name": "sonde top, 10 M ops: CPU", "value": cpu, "unit": "s CPU"}))
