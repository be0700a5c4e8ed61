#!/usr/bin/python3
"""Uses CPU time, memory, threads, a disk and a child for a while, and writes what it used, by its own
count."""

import json
import os
import resource
import subprocess
import threading
import time

stop = threading.Event()
threads = [threading.Thread(target=stop.wait) for _ in range(3)]
for thread in threads:
    thread.start()
memory = bytearray(os.urandom(1 << 16)) * 1024  # 64 MiB
with open("written", "wb") as file:
    file.write(memory[:8 << 20])
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
with open("written", "rb") as file:
    file.read()
child = subprocess.Popen(["/usr/bin/python3", "-c", "import time; time.sleep(0.7)"])
end = time.monotonic() + 0.6
while time.monotonic() < end:
    sum(range(20000))
for _ in range(20):
    time.sleep(0.02)
child.wait()
used = resource.getrusage(resource.RUSAGE_SELF)
main = resource.getrusage(resource.RUSAGE_THREAD)
rss = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
with open("usage.json", "w") as file:
    json.dump({"pid": os.getpid(), "child": child.pid, "threads": 4, "rss_bytes": rss,
               "minor_faults": used.ru_minflt, "user_ms": used.ru_utime * 1000,
               # In blocks of 512 bytes, whatever the file system's are; none of one in memory.
               "read_bytes": used.ru_inblock * 512, "written_bytes": used.ru_oublock * 512,
               "system_ms": used.ru_stime * 1000, "voluntary": main.ru_nvcsw // 2}, file)
    file.write("\n")
stop.set()
