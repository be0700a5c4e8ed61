"""Fills memory of a GPU before, in and after a range "step": 3, 4 and 5 times, and waits after the range only."""
import ctypes


def load_hip():
    for version in (5, 6, 7):
        try:
            return ctypes.CDLL(f"libamdhip64.so.{version}")
        except OSError:
            continue
    raise SystemExit("no libamdhip64.so of ROCm 5 to 7")


roctx, hip = ctypes.CDLL("libroctx64.so.4"), load_hip()
SIZE = ctypes.c_size_t(64 << 20)
memory = ctypes.c_void_p()
assert hip.hipMalloc(ctypes.byref(memory), SIZE) == 0


def fill(count):
    for _ in range(count):
        assert hip.hipMemsetAsync(memory, 1, SIZE, None) == 0


fill(3)
hip.hipDeviceSynchronize()
roctx.roctxRangePushA(b"step")
fill(4)
roctx.roctxRangePop()
hip.hipDeviceSynchronize()
fill(5)
hip.hipDeviceSynchronize()
