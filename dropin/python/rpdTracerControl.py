"""RPD's Python interface, answered by Sonde: for programs under `loadTracer.sh` or `sonde record`.

    from rpdTracerControl import rpdTracerControl
    rpdTracerControl.setFilename(name="trace.rpd", append=True)   # the recorder has chosen: no effect
    profile = rpdTracerControl()
    profile.start()
    ...
    profile.stop()

Where a program is not being recorded, every call does nothing."""

import os as _os
import sys as _sys

sys_path = _os.path.join(_os.path.dirname(_os.path.realpath(__file__)), "..", "..", "python")
if _os.path.isdir(_os.path.join(sys_path, "sonde")) and sys_path not in _sys.path:
    _sys.path.append(_os.path.normpath(sys_path))
del sys_path

import sonde as _sonde  # noqa: E402  pylint: disable=wrong-import-position

__all__ = ["rpdTracerControl"]
_told = []


class rpdTracerControl:  # pylint: disable=invalid-name
    """Starts and stops of one object nest, as in RPD."""

    def __init__(self, nvtx=False):
        self._nvtx = nvtx  # emit_nvtx: PyTorch's operators are recorded anyway
        self._depth = 0

    @classmethod
    def setFilename(cls, name, append=False):  # pylint: disable=invalid-name
        """The file is what the recorder was told with -o."""
        del append
        if not _told and _sonde.recording():
            _told.append(name)
            print(f"rpdTracerControl: setFilename: the trace is what runTracer.sh -o named, not {name}",
                  file=_sys.stderr)

    @classmethod
    def initializeFile(cls, name):  # pylint: disable=invalid-name
        cls.setFilename(name)

    @classmethod
    def skipCreate(cls):  # pylint: disable=invalid-name
        """RPD's children do not make the file again; Sonde's have spools of their own."""

    @classmethod
    def skipLoad(cls):  # pylint: disable=invalid-name
        """There is no library to load."""

    @classmethod
    def loadLibrary(cls):  # pylint: disable=invalid-name
        """The agent is there, or the program is not recorded."""

    def start(self):
        self._depth += 1
        if self._depth == 1:
            _sonde.start()

    def stop(self):
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            _sonde.stop()

    def flush(self):
        _sonde.flush()

    def rangePush(self, domain, apiname, args=""):  # pylint: disable=invalid-name
        del domain
        _sonde.range_push(f"{apiname} {args}".strip() if args else apiname)

    def rangePop(self):  # pylint: disable=invalid-name
        _sonde.range_pop()

    def setPythonTrace(self, doTrace):  # pylint: disable=invalid-name
        """sonde record --python-trace records calls of Python functions."""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        return False
