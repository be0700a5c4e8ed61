"""Continues ../start/sitecustomize.py once a program asks for torch: starts hook.py after the import. Programs also only
ask, as by importlib.util.find_spec(), and try again after an import that failed."""

import _thread
import os
import sys


class Finder(object):
    def __init__(self, waiting):
        self._waiting = waiting  # in sys.meta_path, until torch has been imported
        self._asking = set()  # threads: another finder may ask all of them, and so this one again

    def find_spec(self, name, path, target):
        thread = _thread.get_ident()
        if thread in self._asking:
            return None
        self._asking.add(thread)
        try:
            for finder in list(sys.meta_path):
                find = getattr(finder, "find_spec", None)
                spec = find(name, path, target) if find is not None else None
                if spec is not None:
                    self._follow(spec)
                    return spec
        finally:
            self._asking.discard(thread)
        return None

    def _follow(self, spec):
        try:
            loader = spec.loader
            execute = loader.exec_module
            if hasattr(execute, "sonde_follows"):
                return

            def exec_module(module):
                del loader.exec_module
                execute(module)
                if self._waiting in sys.meta_path:
                    sys.meta_path.remove(self._waiting)
                    _start(module)

            exec_module.sonde_follows = True
            loader.exec_module = exec_module
        except Exception:  # another kind of loader
            pass


def _start(torch):
    try:
        hook = os.path.join(os.path.dirname(__file__), "hook.py")
        space = {"__name__": "_sonde_torch_hook", "__file__": hook}
        with open(hook, "rb") as file:
            exec(compile(file.read(), hook, "exec"), space)
        space["start"](torch)
    except Exception:
        pass
