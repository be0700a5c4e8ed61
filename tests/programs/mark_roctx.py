"""Marks with ROCTX through ctypes, as Python programs without bindings do: mark_roctx.py [LIBRARY]"""

import ctypes
import json
import sys

roctx = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libroctx64.so")
roctx.roctxRangeStartA.restype = ctypes.c_uint64
roctx.roctxRangeStop.argtypes = [ctypes.c_uint64]

errors = 0
for i in range(3):
    errors += roctx.roctxRangePushA(f"python {i}".encode()) != 0
    roctx.roctxMarkA("mark ü".encode())
    errors += roctx.roctxRangePop() != 0
errors += roctx.roctxRangePop() != -1
range_id = roctx.roctxRangeStartA(b"python started")
roctx.roctxRangeStop(range_id)
print(json.dumps({"ranges": 4, "marks": 3, "errors": errors}))
