"""Makes markers when it is told to, in four threads: a line "NAME COUNT" on stdin makes COUNT markers NAME in each,
and is answered with "done". Ends at the end of stdin."""
import ctypes
import queue
import sys
import threading

roctx = ctypes.CDLL("libroctx64.so.4")


def work(orders, done):
    for name, count in iter(orders.get, None):
        for _ in range(count):
            roctx.roctxMarkA(name)
        done.put(None)


done = queue.Queue()
orders = [queue.Queue() for _ in range(4)]
threads = [threading.Thread(target=work, args=(each, done)) for each in orders]
for thread in threads:
    thread.start()
print("ready", flush=True)
for line in sys.stdin:
    name, count = line.split()
    for each in orders:
        each.put((name.encode(), int(count)))
    for _ in orders:
        done.get()
    print("done", flush=True)
for each in orders:
    each.put(None)
for thread in threads:
    thread.join()
