"""The agent of this process, or None if the program is not recorded. The layout is the beginning of struct
sonde_agent in include/sonde/backend.h; tests/support/python_api_test.py compares the two."""

import ctypes

ABI = 2
_u32, _u64, _i64, _text = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int64, ctypes.c_char_p


class Call(ctypes.Structure):
    """struct sonde_call."""

    _fields_ = [("correlation", _u64), ("private_data", _u64)]


def _call(result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)


class Agent(ctypes.Structure):
    """Functions that this backend does not use are plain pointers."""

    _fields_ = [
        ("abi", _u32),
        ("size", _u32),
        ("recording", _call(ctypes.c_int)),
        ("ticks", _call(_u64)),
        ("intern", _call(_u32, _text, ctypes.c_size_t)),
        ("define_function", _call(_u32, _text, _text, _text, _text)),
        ("define_clock", ctypes.c_void_p),
        ("define_device", ctypes.c_void_p),
        ("define_queue", ctypes.c_void_p),
        ("clock_snapshot", ctypes.c_void_p),
        ("call_begin", _call(Call, _u32, ctypes.c_int)),
        ("call_end", _call(None, ctypes.POINTER(Call), _i64, ctypes.c_void_p, ctypes.c_size_t)),
        ("op", ctypes.c_void_p),
        ("copy_request", ctypes.c_void_p),
        ("range_push", ctypes.c_void_p),
        ("range_pop", ctypes.c_void_p),
        ("range_start", _call(_u64, _u32, _u32, _text)),
        ("range_stop", _call(None, _u64)),
        ("mark", ctypes.c_void_p),
        ("counter", ctypes.c_void_p),
        ("metadata", ctypes.c_void_p),
        ("name_thread", ctypes.c_void_p),
        ("diagnostic", _call(None, ctypes.c_int, _text, _text)),
        ("dropped", ctypes.c_void_p),
        ("start", ctypes.c_void_p),
        ("stop", ctypes.c_void_p),
        ("flush", ctypes.c_void_p),
        ("range_at", _call(None, _u32, _u32, _text, _u64, _u64)),
    ]


def find():
    """The Agent, or None."""
    try:
        get = ctypes.CDLL(None).sonde_agent_v2
    except (AttributeError, OSError):
        return None
    get.restype = ctypes.POINTER(Agent)
    get.argtypes = []
    found = get()
    if not found or found.contents.abi != ABI:
        return None
    return found.contents
