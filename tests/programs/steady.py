"""Four threads that each make a marker every millisecond, until the end of stdin."""
import ctypes
import sys
import threading
import time

roctx = ctypes.CDLL("libroctx64.so.4")
over = threading.Event()


def work():
    while not over.is_set():
        roctx.roctxMarkA(b"tick")
        time.sleep(0.001)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
print("ready", flush=True)
sys.stdin.read()
over.set()
for thread in threads:
    thread.join()
