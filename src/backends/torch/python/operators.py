"""Operators through Python, for a libtorch that libsonde-torch.so was not built for.

A TorchDispatchMode under everything that the program does sees each operator below autograd, so
aten::addmm but not aten::linear, with its inputs but without sequence number. A mode belongs to a
thread: threads that Python starts later enter one as they begin, and libtorch's own threads get
that of the thread they work for.
"""

import functools
import threading

from torch.utils import _python_dispatch

from _sonde_torch import packing

_MOST_KNOWN = 4096  # cached packed arguments


class _Operators(_python_dispatch.TorchDispatchMode):
    def __init__(self, torch, recorder):
        super().__init__()
        self.on = True
        self._recorder = recorder
        self._tensor = torch.Tensor
        self._types = packing.Types(torch, recorder)
        self._ids = {}
        self._packed = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        call = self._begin(func, args, kwargs) if self.on else None
        try:
            return func(*args, **(kwargs or {}))
        finally:
            if call is not None:
                self._recorder.call_end(call[0], 0, call[1], len(call[1]))

    def _begin(self, func, args, kwargs):
        recorder = self._recorder
        if not recorder.recording():
            return None
        try:
            operator = self._ids.get(func)
            if operator is None:
                operator = self._ids[func] = recorder.define(func._schema.name)
            words = self._words(tuple(args) + tuple(kwargs.values()) if kwargs else args)
            return recorder.call_begin(operator, 0), words
        except Exception:
            return None

    def _words(self, inputs):
        key = packing.key_of(inputs, self._tensor)
        words = self._packed.get(key)
        if words is None:
            if len(self._packed) >= _MOST_KNOWN:
                self._packed.clear()
            words = self._packed[key] = self._types.pack(key)
        return words


def _follow_threads(mode):
    begin = threading.Thread._bootstrap_inner

    @functools.wraps(begin)
    def _bootstrap_inner(self):
        if mode.on:
            mode.__enter__()
        begin(self)

    threading.Thread._bootstrap_inner = _bootstrap_inner


def _spare_subclasses(torch, mode):
    """In version 1 Tensor.as_subclass() fails under any mode."""
    if not str(torch.__version__).startswith("1."):
        return
    as_subclass = torch.Tensor.as_subclass

    @functools.wraps(as_subclass)
    def without_mode(self, cls):
        if _python_dispatch._get_current_dispatch_mode() is not mode:
            return as_subclass(self, cls)
        mode.__exit__(None, None, None)
        try:
            return as_subclass(self, cls)
        finally:
            mode.__enter__()

    torch.Tensor.as_subclass = without_mode


def _make_way_for_compile(torch, mode, recorder):
    """torch.compile compiles nothing under a mode."""
    compile_ = getattr(torch, "compile", None)
    if compile_ is None:
        return

    @functools.wraps(compile_)
    def make_way(*arguments, **options):
        if mode.on:
            mode.on = False
            recorder.warn("torch.compile is used: operators are no longer recorded, for it "
                          "compiles nothing while they are recorded through Python")
            if _python_dispatch._get_current_dispatch_mode() is mode:
                mode.__exit__(None, None, None)
        return compile_(*arguments, **options)

    torch.compile = make_way


def start(torch, recorder):
    mode = _Operators(torch, recorder)
    _make_way_for_compile(torch, mode, recorder)
    _spare_subclasses(torch, mode)
    _follow_threads(mode)
    mode.__enter__()
