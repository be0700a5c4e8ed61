#!/usr/bin/python3
"""`sonde top` on 10 million operations, whole process: CPU and wall time, the least of three runs,
since the first of a file that has just been written takes up to half as much again."""
# runs: 1
import subprocess

from measuring import BUILD, FOLDER, SONDE, row, timed

FILE = FOLDER / "ten_million.rpd"

subprocess.run([f"{BUILD}/tests/bench/export_bench", "20000000", "1", FILE], check=True,
               stdout=subprocess.DEVNULL)
runs = [timed(SONDE, "top", FILE) for _ in range(3)]
row("sonde top, 10 M ops", min(each.wall_s for each in runs), "s wall")
row("sonde top, 10 M ops: CPU", min(each.cpu_s for each in runs), "s CPU")
