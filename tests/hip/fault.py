#!/usr/bin/python3
"""Launches a kernel that fails through HIP's C interface: fault.py CODE_OBJECT FAILURE. Traced by
tests/e2e/debug.toml and tests/hip/faults_test.py.
"""

import ctypes
import os
import sys
import time



def load_hip():
    for version in (5, 6, 7):
        try:
            return ctypes.CDLL(f"libamdhip64.so.{version}")
        except OSError:
            continue
    sys.exit("no libamdhip64.so of ROCm 5 to 7")


hip = load_hip()
COUNT = 1 << 21  # so that ROCr gives each buffer a block of its own, which a free unmaps
BYTES = COUNT * 4


def check(status, what):
    if status != 0:
        sys.exit(f"{what}: error {status}")


def make_buffer():
    memory = ctypes.c_void_p()
    check(hip.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(BYTES)), "hipMalloc")
    check(hip.hipMemset(memory, 0, ctypes.c_size_t(BYTES)), "hipMemset")
    return memory


def drop_buffer(memory):
    check(hip.hipFree(memory), "hipFree")


def launch(module, kernel, groups, arguments):
    function = ctypes.c_void_p()
    check(hip.hipModuleGetFunction(ctypes.byref(function), module, kernel.encode()), kernel)
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(one) for one in arguments))
    check(hip.hipModuleLaunchKernel(function, groups, 1, 1, 64, 1, 1, 0, None, pointers, None),
          "hipModuleLaunchKernel")


def compute():
    while "COMPUTES" in os.environ:
        pass


def main():
    code_object, failure = sys.argv[1:]
    module = ctypes.c_void_p()
    first, second, values = make_buffer(), make_buffer(), make_buffer()
    check(hip.hipModuleLoad(ctypes.byref(module), code_object.encode()), "hipModuleLoad")
    print(f'{{"in": "{first.value:#x}", "out": "{second.value:#x}", "values": "{values.value:#x}"}}',
          flush=True)
    count, null = ctypes.c_int(COUNT), ctypes.c_void_p()
    kernels = {
        "page": ("_ZN4work7overrunEPfPKfil", 4, [second, first, count, ctypes.c_long(COUNT)]),
        "free": ("_ZN4work5reuseEPii", COUNT // 64, [values, count]),
        "null": ("_ZN4work6followEPKiPi", 1, [null, values]),
        "trap": ("_ZN4work4trapEPi", 2, [values]),
        "illegal": ("_ZN4work7illegalEPi", 1, [values]),
        "misaligned": ("_ZN4work8misalignEPi", 1, [values]),
        "misaligned_lds": ("_ZN4work15misalign_sharedEPi", 1, [values]),
        "scratch": ("_ZN4work8overflowEPi", 1, [values]),
        "lds": ("_ZN4work7outsideEPi", 1, [values]),
        "assert": ("_ZN4work5checkEPii", 1, [values, ctypes.c_int(2)]),
        "spin": ("_ZN4work4spinEPVi", 1, [values]),
    }
    if failure == "free":
        drop_buffer(values)
    launch(module, *kernels[failure])
    compute()
    while sys.argv[2:] == ["spin"] and "WAITS" in os.environ:
        time.sleep(100)
    check(hip.hipDeviceSynchronize(), "hipDeviceSynchronize")


main()
