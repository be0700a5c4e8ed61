"""Runs `true` with subprocess.Popen again and again for so many milliseconds of its own CPU time, then
computes alone for as many more: spawn.py MS. Prints the CPU time of both in ns."""
import json
import subprocess
import sys
import time


def spawns(limit_ns):
    begin = time.process_time_ns()
    children = 0
    while time.process_time_ns() - begin < limit_ns:
        with subprocess.Popen(["true"]) as child:
            assert child.wait() == 0
        children += 1
        computes(2_000_000)
    return time.process_time_ns() - begin, children


def computes(limit_ns):
    begin = time.process_time_ns()
    while time.process_time_ns() - begin < limit_ns:
        sum(range(1000))
    return time.process_time_ns() - begin


limit = int(sys.argv[1]) * 1_000_000
spawned, children = spawns(limit)
print(json.dumps({"spawns": spawned, "children": children, "computes": computes(limit)}))
