"""Ranges and marks for record --window marker:^step: each name says whether its marks are inside, and its counts are
printed as JSON. Ranges nest, overlap, are those of a thread that ends first, and of a process that forks."""
import collections
import ctypes
import json
import os
import threading

roctx = ctypes.CDLL("libroctx64.so.4")
roctx.roctxRangeStartA.restype = ctypes.c_uint64
roctx.roctxRangeStop.argtypes = [ctypes.c_uint64]
inside = collections.Counter()


def marks(name, count):
    for _ in range(count):
        roctx.roctxMarkA(name.encode())
    if name.startswith("in"):
        inside[name] += count


def elsewhere(work, *arguments):
    thread = threading.Thread(target=work, args=arguments)
    thread.start()
    thread.join()
    while len(os.listdir("/proc/self/task")) > 1:  # Python says so before its last step
        pass


def leave_open():
    roctx.roctxRangePushA(b"step that its thread leaves open")
    marks("in of a thread", 6)


marks("before", 10)
for number in range(3):
    roctx.roctxRangePushA(b"step %d" % number)
    marks("in a step", 5)
    roctx.roctxRangePushA(b"detail")
    elsewhere(marks, "in by another thread", 7)
    roctx.roctxRangePop()
    roctx.roctxRangePop()
    marks("between", 20)
    roctx.roctxRangePushA(b"no step")
    marks("out", 3)
    roctx.roctxRangePop()
first, second = roctx.roctxRangeStartA(b"step a"), roctx.roctxRangeStartA(b"step b")
roctx.roctxRangeStop(first)
marks("in b", 2)
roctx.roctxRangeStop(second)
marks("after b", 9)
roctx.roctxRangePushA(b"step x")
roctx.roctxRangePushA(b"step y")
roctx.roctxRangePop()
marks("in x", 4)
roctx.roctxRangePop()
elsewhere(leave_open)
marks("after a thread", 8)
roctx.roctxRangePushA(b"step f")
child = os.fork()
if child == 0:  # the window is of the parent
    marks("child", 11)
    roctx.roctxRangePushA(b"step c")
    marks("in a child", 2)
    roctx.roctxRangePop()
    marks("child after", 3)
    os._exit(0)
os.waitpid(child, 0)
marks("in f", 3)
roctx.roctxRangePop()
inside["in a child"] = 2
print(json.dumps({"inside": sum(inside.values()), "names": len(inside)}))
