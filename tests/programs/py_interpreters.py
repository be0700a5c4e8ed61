"""Interpreters beside the main one, made while a thread has calls open: prints "ok"."""
import threading

try:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
except ImportError:  # from Python 3.13 on
    import _interpreters as interpreters
    run = interpreters.exec


def deep(level):
    return 0 if level == 0 else deep(level - 1)


def work():
    deep(10)
    ready.set()
    go_on.wait()
    for _ in range(2):
        deep(900)


ready, go_on = threading.Event(), threading.Event()
thread = threading.Thread(target=work)
thread.start()
ready.wait()
for _ in range(3):
    made = interpreters.create()
    run(made, "def inside(): return 1\ninside()")
    interpreters.destroy(made)
go_on.set()
thread.join()
print("ok")
