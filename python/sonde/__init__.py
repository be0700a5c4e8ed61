"""Marks what a Python program does, for `sonde record`.

    import sonde

    with sonde.range("load"):
        batch = next(batches)

    @sonde.range("train")
    def train(batch): ...

    with sonde.profile() as profile:      # what `sonde record --no-start` records
        for batch in batches:
            train(batch)
            profile.step()                # ranges "ProfilerStep#0", "ProfilerStep#1" ...

Pure Python, and nothing to build. Where a program is not being recorded, every call returns at once
and does nothing. Texts are str; they may be of any length. All functions may be called from any
thread; ranges nest within a thread.
"""

import contextlib as _contextlib
import functools as _functools

from sonde import _agent

__all__ = ["counter", "flush", "mark", "metadata", "profile", "range", "range_pop", "range_push",
           "recording", "start", "stop"]

_found = _agent.find()


def _bytes(text):
    """What C sees: UTF-8, and no end in the middle."""
    return str(text).encode("utf-8", "replace").replace(b"\0", b" ")


def recording():
    """Whether what happens now is being recorded."""
    return _found is not None and bool(_found.recording())


def range_push(text):
    """Opens a range of this thread."""
    if _found is not None:
        _found.range_push(0, 0, _bytes(text))


def range_pop():
    """Closes the innermost range of this thread; returns how many are still open, -1: none was."""
    return _found.range_pop(0) if _found is not None else -1


class range(_contextlib.ContextDecorator):  # pylint: disable=invalid-name
    """A range around a block or, as a decorator, around each call of a function."""

    def __init__(self, text):
        self._text = _bytes(text)

    def __enter__(self):
        if _found is not None:
            _found.range_push(0, 0, self._text)
        return self

    def __exit__(self, *_):
        if _found is not None:
            _found.range_pop(0)
        return False


def mark(text):
    """A moment."""
    if _found is not None:
        _found.mark(0, 0, _bytes(text))


@_functools.lru_cache(maxsize=4096)
def _interned(name):
    encoded = _bytes(name)
    return _found.intern(encoded, len(encoded))


def counter(name, value):
    """The value of a named quantity at this moment: counter("loss", 0.25)."""
    if _found is not None:
        _found.counter(_interned(name), float(value))


def metadata(key, value):
    """A fact about the run: metadata("batch size", 64)."""
    if _found is not None:
        _found.metadata(_bytes(key), _bytes(value))


def start():
    """Recording of this process on; starts and stops nest."""
    if _found is not None:
        _found.start()


def stop():
    """Recording of this process off."""
    if _found is not None:
        _found.stop()


def flush():
    """Returns when everything recorded so far would survive a SIGKILL."""
    if _found is not None:
        _found.flush()


class profile:  # pylint: disable=invalid-name
    """Records a block, with steps as torch.profiler marks them.

    Under `sonde record --no-start` only such blocks are recorded; otherwise everything is, and the
    block adds its steps. The first step begins with the block.
    """

    def __init__(self):
        self._number = -1
        self._started = False

    def __enter__(self):
        self._started = not recording()
        if self._started:
            start()
        self._open()
        return self

    def __exit__(self, *_):
        range_pop()
        if self._started:
            stop()
        return False

    def step(self):
        """The current step is over, the next one begins."""
        range_pop()
        self._open()

    def _open(self):
        self._number += 1
        range_push(f"ProfilerStep#{self._number}")
