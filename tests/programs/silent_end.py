"""Makes a mark, opens a range, records nothing more for a while, and ends.

    silent_end.py HOW SECONDS FILE

HOW: "exit", "_exit" or "kill" (SIGKILL by itself). Just before that, it writes the time of
CLOCK_MONOTONIC in ns to FILE.
"""

import ctypes
import os
import sys
import time

how, seconds, path = sys.argv[1], float(sys.argv[2]), sys.argv[3]
roctx = ctypes.CDLL("libroctx64.so")
roctx.roctxMarkA(b"only")
roctx.roctxRangePushA(b"open")
with open(path + ".began", "w", encoding="ascii") as file:
    file.write(str(time.monotonic_ns()))
time.sleep(seconds)
with open(path + ".part", "w", encoding="ascii") as file:
    file.write(str(time.monotonic_ns()))
os.rename(path + ".part", path)
if how == "_exit":
    os._exit(0)
if how == "kill":
    os.kill(os.getpid(), 9)
