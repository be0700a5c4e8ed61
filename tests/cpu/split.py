"""Burns CPU time in three functions: 60, 30 and 10 of each hundred rounds. sixty is Python alone,
thirty spends its time in C code, and ten in Python that C code calls. Turns are not equally long: a
period of whole milliseconds could keep in step with the samples, and each would hit the same places. Prints, as
JSON, the nanoseconds that each function took: split.py MILLISECONDS [THREADS]."""

import json
import random
import sys
import threading
import time
import zlib

DATA = bytes(range(256)) * 512
SPENT = {"sixty": 0, "thirty": 0, "ten": 0}
LOCK = threading.Lock()


def sixty():
    total = 0
    for i in range(2000):
        total += i * i % 7
    return total


def thirty():
    return zlib.crc32(DATA)


def key_of_ten(x):
    y = 0
    for i in range(10):
        y += (x * i) % 11
    return y


def ten():
    return sorted(range(100), key=key_of_ten)


SHARES = ((sixty, 6_000_000), (thirty, 3_000_000), (ten, 1_000_000))


def work(milliseconds):
    spent = {"sixty": 0, "thirty": 0, "ten": 0}
    turns = random.Random(1)
    end = time.thread_time_ns() + milliseconds * 1_000_000
    while time.thread_time_ns() < end:
        for function, share in SHARES:
            long = share * turns.uniform(0.5, 1.5)
            begin = time.thread_time_ns()
            while time.thread_time_ns() - begin < long:
                for _ in range(20):
                    function()
            spent[function.__name__] += time.thread_time_ns() - begin
    with LOCK:
        for name, ns in spent.items():
            SPENT[name] += ns


def main():
    milliseconds = int(sys.argv[1])
    threads = [threading.Thread(target=work, args=(milliseconds,))
               for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not threads:
        work(milliseconds)
    print(json.dumps(SPENT))


main()
