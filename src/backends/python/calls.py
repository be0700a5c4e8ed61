"""For sonde record --python-trace: makes the interpreter call libsonde-python.so at each call and return. Run by
../start/sitecustomize.py in any Python, even version 2."""

import os
import sys


def start(folder, which):
    if sys.version_info < (3, 8) or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return
    import ctypes
    import threading

    library = ctypes.PyDLL(os.path.join(folder, "libsonde-python.so"))
    library.sonde_python_trace_thread.argtypes = [ctypes.py_object]
    library.sonde_python_trace_thread.restype = None
    if not library.sonde_python_trace(which.encode()):
        return

    def first_event(frame, event, argument):
        library.sonde_python_trace_thread(frame)

    threading.setprofile(first_event)
