#!/usr/bin/python3
# runs: 1
"""What a dormant agent costs: a program that computes, allocates, makes system calls and starts threads, alone, `sonde record --no-start`, and with the library preloaded for nobody. The program times itself, in turn with the others."""

import os
import statistics
import subprocess

from measuring import BUILD, FOLDER, SONDE, row

TRACE = FOLDER / "t.rpd"
ROUNDS = 16
# On one core: where a thread begins on another one, which sleeps or not, it takes 40 or 80 us.
PROGRAM = """
import os, threading, time
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
def work():
    for round in range(20):
        data = [bytes(1000 + i % 7) for i in range(4000)]
        sum(len(each) * 3 % 11 for each in data)
        for _ in range(2000): os.getppid()
def started(count):
    begin = time.process_time()
    for _ in range(count):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    return (time.process_time() - begin) / count
threads = [threading.Thread(target=work) for _ in range(3)]
begin = time.process_time()
for each in threads: each.start()
for each in threads: each.join()
work = time.process_time() - begin
print(work, min(started(100) for _ in range(20)))
"""


def run(recorder, environment):
    TRACE.unlink(missing_ok=True)
    done = subprocess.run([*recorder, "/usr/bin/python3", "-c", PROGRAM], check=True, capture_output=True, text=True,
                          env={**os.environ, **environment})
    return [float(each) for each in done.stdout.split()]


def main():
    preload = {"LD_PRELOAD": f"{BUILD}/lib/sonde/libsonde-agent.so"}
    ways = {"alone": ((), {}), "preloaded": ((), preload),
            "waits": ((SONDE, "record", "-q", "--no-start", "--metrics", "off", "-o", TRACE, "--"), {})}
    times = {way: [] for way in ways}
    for number in range(ROUNDS):
        order = list(ways) if number % 2 == 0 else list(reversed(ways))
        for way in order:
            times[way].append(run(*ways[way]))
    least = {way: [min(column) for column in zip(*rows)] for way, rows in times.items()}
    work, start = least["alone"]
    spread = 100 * (statistics.median(each[0] for each in times["alone"]) / work - 1)
    for way, what in (("preloaded", "preloaded, no recording"), ("waits", "record --no-start")):
        row(f"dormant, {what}: CPU time more", round(100 * (least[way][0] / work - 1), 2), "%", goal=1,
            note=f"least of {ROUNDS}; {1000 * work:.0f} ms alone, whose median is {spread:.1f} % above its least")
        row(f"dormant, {what}: start of a thread", round(1e6 * (least[way][1] - start), 1), "us CPU", goal=1,
            note=f"more than {1e6 * start:.0f} us alone; least of {ROUNDS} times 20 means of 100 threads, whose median is "
                 f"{1e6 * (statistics.median(each[1] for each in times['alone']) - start):.1f} us above it")


main()
