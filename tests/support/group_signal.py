#!/usr/bin/env python3
"""Sends SIGINT twice to the process group of `sonde record`, then once to the recorder alone; its
program must get it three times. Prints how often it did.   group_signal.py TRACE"""

import os
import signal
import subprocess
import sys
import time

PROGRAM = """
import signal, time
got = []
signal.signal(signal.SIGINT, lambda number, frame: got.append(number))
print("ready", flush=True)
end = time.monotonic() + 1.0
while time.monotonic() < end:
    time.sleep(0.01)
print(len(got))
"""

recorder = subprocess.Popen(
    ["sonde", "record", "-q", "-o", sys.argv[1], "--", sys.executable, "-c", PROGRAM],
    start_new_session=True, stdout=subprocess.PIPE, text=True)
recorder.stdout.readline()
for send in (os.killpg, os.killpg, os.kill):
    send(recorder.pid, signal.SIGINT)
    time.sleep(0.2)
print("got", recorder.stdout.read().strip(), "exit", recorder.wait())
