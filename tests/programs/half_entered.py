"""A thread that is for long where the interpreter is for nanoseconds: what it says it executes is not written yet.

CPython 3.11 and 3.12 show a "cframe" before they write into it. half_entered.py puts one there whose
frame is whatever lies in memory, and works below it.
"""
import ctypes
import sys

CFRAME_OF_THREAD = 56
FRAME, BEFORE = {(3, 11): (1, 2), (3, 12): (0, 1)}.get(sys.version_info[:2], (None, None))
if FRAME is None:
    print("other frames")
    sys.exit()

ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
thread = ctypes.pythonapi.PyThreadState_Get()
place = ctypes.c_uint64.from_address(thread + CFRAME_OF_THREAD)
cframe = (ctypes.c_uint64 * 3)()
rubbish = (ctypes.c_uint64 * 64)(*[0x3E8_0000_0448] * 64)  # a pair of numbers, as a stack holds them


def burn(frame, before):
    real = place.value
    cframe[FRAME], cframe[BEFORE] = frame, before or real
    place.value = ctypes.addressof(cframe)
    sum(range(5_000_000))  # no Python code runs in it
    place.value = real


for what in (0x3E8_0000_0448, ctypes.addressof(rubbish), thread, id(burn), id(burn.__code__), 0):
    burn(what, None)
    burn(what, what)
print("fine")
