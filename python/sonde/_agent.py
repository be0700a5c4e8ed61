"""The functions of sonde.h for Python, or nothing when the program is not recorded.

The layout is that of struct sonde_functions in include/sonde/sonde.h; tests/support/python_api_test.py
compares the two.
"""

import ctypes

_u32, _u64, _text = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_char_p


def _call(result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)


class Functions(ctypes.Structure):
    _fields_ = [
        ("size", _u32),
        ("recording", _call(ctypes.c_int)),
        ("intern", _call(_u32, _text, ctypes.c_size_t)),
        ("range_push", _call(None, _u32, _u32, _text)),
        ("range_pop", _call(ctypes.c_int, _u32)),
        ("range_start", _call(_u64, _u32, _u32, _text)),
        ("range_stop", _call(None, _u64)),
        ("mark", _call(None, _u32, _u32, _text)),
        ("counter", _call(None, _u32, ctypes.c_double)),
        ("metadata", _call(None, _text, _text)),
        ("start", _call(None)),
        ("stop", _call(None)),
        ("flush", _call(None)),
    ]


def find():
    """The functions, or None."""
    try:
        get = ctypes.CDLL(None).sonde_functions_v1
    except (AttributeError, OSError):
        return None
    get.restype = ctypes.POINTER(Functions)
    get.argtypes = []
    found = get()
    return found.contents if found and found.contents.size >= ctypes.sizeof(Functions) else None
