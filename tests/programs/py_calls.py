"""Calls functions in all the ways that end a call, counts them itself, and prints the numbers as JSON:
py_calls.py [fail]. With "fail" it ends with an uncaught exception."""

import json
import sys
import threading

COUNTS = {}
LOCK = threading.Lock()


def count(name):
    with LOCK:
        COUNTS[name] = COUNTS.get(name, 0) + 1


def plain():
    count("plain")


def fib(n):
    count("fib")
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def raises(depth):
    count("raises")
    if depth:
        raises(depth - 1)
    raise KeyError(depth)


def generates():
    # A call for each time that it goes on, and one for the end.
    for i in range(5):
        count("generates")
        yield i
    count("generates")


class Shape:
    def area(self):
        count("Shape.area")
        return 6


def sorts():
    count("sorts")

    def key(x):
        count("sorts.<locals>.key")
        return -x
    return sorted(range(10), key=key)


def worker():
    count("worker")
    for _ in range(50):
        plain()


def recurses(n):
    count("recurses")
    return 0 if n == 0 else 1 + recurses(n - 1)


def main():
    for _ in range(100):
        plain()
    fib(10)
    try:
        raises(4)
    except KeyError:
        pass
    list(generates())
    for _ in range(7):
        Shape().area()
    sorts()
    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sys.setrecursionlimit(5000)
    recurses(3000)


main()
print(json.dumps({"names": sorted(COUNTS), "counts": [COUNTS[name] for name in sorted(COUNTS)]}))
sys.stdout.flush()
if sys.argv[1:] == ["fail"]:
    raises(2)
