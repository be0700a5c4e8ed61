#!/usr/bin/python3
"""Launches a kernel of a code object through HIP's C interface, on a buffer that may have been freed:
fault.py CODE_OBJECT KERNEL [free]. Traced by tests/e2e/debug.toml.
"""

import ctypes
import sys

hip = ctypes.CDLL("libamdhip64.so.5")
BYTES = 8 << 20


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


def main():
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    memory = make_buffer()
    check(hip.hipModuleLoad(ctypes.byref(module), sys.argv[1].encode()), "hipModuleLoad")
    check(hip.hipModuleGetFunction(ctypes.byref(function), module, sys.argv[2].encode()),
          "hipModuleGetFunction")
    print(f'{{"memory": "{memory.value:#x}"}}', flush=True)
    if sys.argv[3:] == ["free"]:
        drop_buffer(memory)
    pointer = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    check(hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, pointer, None),
          "hipModuleLaunchKernel")
    check(hip.hipDeviceSynchronize(), "hipDeviceSynchronize")


main()
