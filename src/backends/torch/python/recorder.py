"""Passes what this backend records to the agent."""

from _sonde_torch import agent

_INFO, _WARNING = 0, 1
_SOURCE = b"torch"


class Recorder:
    def __init__(self, table):
        self.domain = table.intern(b"torch", 5)
        self.recording = table.recording
        self.ticks = table.ticks
        self.range_at = table.range_at
        self.range_start = table.range_start
        self.range_stop = table.range_stop
        self.call_begin = table.call_begin
        self.call_end = table.call_end
        self._intern = table.intern
        self._diagnostic = table.diagnostic
        self._define = table.define_function

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
    """The Recorder, or None if this program is not recorded."""
    table = agent.find()
    return Recorder(table) if table is not None else None
