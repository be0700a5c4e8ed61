"""Sleeps for MILLISECONDS in one function and waits for a lock in another thread's hands in the next.
Prints, as JSON, the nanoseconds of wall time of each: nap.py MILLISECONDS."""

import json
import sys
import threading
import time


def compute():
    # So that the main thread has been sampled before it sleeps.
    end = time.thread_time_ns() + 100_000_000
    total = 0
    while time.thread_time_ns() < end:
        total += sum(range(1000))
    return total


def naps(seconds):
    begin = time.monotonic_ns()
    time.sleep(seconds)
    return time.monotonic_ns() - begin


def waits(seconds):
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(seconds, lock.release).start()
    begin = time.monotonic_ns()
    lock.acquire()
    return time.monotonic_ns() - begin


def main():
    seconds = int(sys.argv[1]) / 1000
    compute()
    print(json.dumps({"naps": naps(seconds), "waits": waits(seconds)}))


main()
