"""The agent as this backend calls it, through ctypes."""

import ctypes

from _sonde_torch import agent as _agent

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64
_INFO, _WARNING = 0, 1
_SOURCE = b"torch"


class Call(ctypes.Structure):
    """struct sonde_call."""

    _fields_ = [("correlation", _u64), ("private_data", _u64)]


class _Agent(_agent.Agent):
    """With what was added to struct sonde_agent later."""

    _fields_ = [("range_at", ctypes.CFUNCTYPE(None, _u32, _u32, ctypes.c_char_p, _u64, _u64))]


class Recorder:
    def __init__(self, table):
        self.domain = table.intern(b"torch", 5)
        self.recording = table.recording
        self.ticks = table.ticks
        self.range_at = table.range_at
        self.range_start = table.range_start
        self.range_stop = table.range_stop
        text = ctypes.c_char_p
        self._intern = table.intern
        self._diagnostic = self._typed(table.diagnostic, None, ctypes.c_int, text, text)
        self._define = self._typed(table.define_function, _u32, text, text, text, text)
        self.call_begin = self._typed(table.call_begin, Call, _u32, ctypes.c_int)
        self.call_end = self._typed(table.call_end, None, ctypes.POINTER(Call), ctypes.c_int64,
                                    ctypes.c_void_p, ctypes.c_size_t)

    @staticmethod
    def _typed(address, result, *arguments):
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    def intern(self, text):
        encoded = text.encode("utf-8", "replace")
        return self._intern(encoded, len(encoded))

    def define(self, name):
        return self._define(b"torch", b"cpu_op", name.encode("utf-8", "replace"),
                            b"{Input Dims:L|Input type:N}")

    def inform(self, text):
        self._diagnostic(_INFO, _SOURCE, text.encode("utf-8", "replace"))

    def warn(self, text):
        self._diagnostic(_WARNING, _SOURCE, text.encode("utf-8", "replace"))


def find():
    """The Recorder, or None where this program is not recorded."""
    table = _agent.find()
    if table is None or table.size < ctypes.sizeof(_Agent):
        return None
    return Recorder(_Agent.from_address(ctypes.addressof(table)))
