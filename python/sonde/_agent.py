"""The agent of this process as Python functions, or nothing when the program is not recorded.

The layout is that of struct sonde_agent in include/sonde/backend.h; tests/support/python_api_test.py
compares the two.
"""

import ctypes

ABI = 1
_u32, _u64, _text = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p


def _call(result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)


class Agent(ctypes.Structure):
    """Functions that Python has no use for are pointers."""

    _fields_ = [
        ("abi", _u32),
        ("size", _u32),
        ("recording", _call(ctypes.c_int)),
        ("ticks", _call(_u64)),
        ("intern", _call(_u32, _text, ctypes.c_size_t)),
        ("define_function", ctypes.c_void_p),
        ("define_clock", ctypes.c_void_p),
        ("define_device", ctypes.c_void_p),
        ("define_queue", ctypes.c_void_p),
        ("clock_snapshot", ctypes.c_void_p),
        ("call_begin", ctypes.c_void_p),
        ("call_end", ctypes.c_void_p),
        ("op", ctypes.c_void_p),
        ("range_push", _call(None, _u32, _u32, _text)),
        ("range_pop", _call(ctypes.c_int, _u32)),
        ("range_start", _call(_u64, _u32, _u32, _text)),
        ("range_stop", _call(None, _u64)),
        ("mark", _call(None, _u32, _u32, _text)),
        ("counter", _call(None, _u32, ctypes.c_double)),
        ("metadata", _call(None, _text, _text)),
        ("name_thread", _call(None, _u32, _text)),
        ("diagnostic", ctypes.c_void_p),
        ("dropped", ctypes.c_void_p),
        ("start", _call(None)),
        ("stop", _call(None)),
        ("flush", _call(None)),
    ]


def find():
    """The Agent, or None."""
    try:
        get = ctypes.CDLL(None).sonde_agent_v1
    except (AttributeError, OSError):
        return None
    get.restype = ctypes.POINTER(Agent)
    get.argtypes = []
    found = get()
    if not found or found.contents.abi != ABI:
        return None
    return found.contents if found.contents.size >= ctypes.sizeof(Agent) else None
