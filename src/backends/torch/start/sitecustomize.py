# `sonde record` puts this folder in front of PYTHONPATH, so that every Python of a recorded program
# runs this file when it starts. It removes the folder again, waits for `import torch`
# (../torch/hook.py continues there), and hands over to the sitecustomize.py that would otherwise
# have been run. Any Python may run this, even version 2: on any error, the program must not notice.
import os
import sys


def _hide(folder):
    sys.path[:] = [path for path in sys.path if path != folder]
    sys.path_importer_cache.pop(folder, None)
    # The agent restores it for programs that this one starts.
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [path for path in paths if path != folder]
    if rest:
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    else:
        os.environ.pop("PYTHONPATH", None)


class _TorchFinder(object):
    """The first finder until torch has been imported; starts the hook then. Programs also only ask for torch, as by
    importlib.util.find_spec(), and try again after an import that failed."""

    def __init__(self, folder):
        self._hook = os.path.join(os.path.dirname(folder), "torch", "hook.py")
        self._asking = set()  # threads: another finder may ask all of them, and so this one again

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        import _thread

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
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self._start(module)

            exec_module.sonde_follows = True
            loader.exec_module = exec_module
        except Exception:  # another kind of loader
            pass

    def _start(self, torch):
        try:
            space = {"__name__": "_sonde_torch_hook", "__file__": self._hook}
            with open(self._hook) as file:
                exec(compile(file.read(), self._hook, "exec"), space)
            space["start"](torch)
        except Exception:
            pass


def _trace_calls(folder, which):
    """For sonde record --python-trace: makes the interpreter call libsonde-python.so at each call and return."""
    if sys.version_info < (3, 8) or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return
    import ctypes
    import threading

    library = ctypes.PyDLL(os.path.join(os.path.dirname(folder), "libsonde-python.so"))
    library.sonde_python_trace_thread.argtypes = [ctypes.py_object]
    library.sonde_python_trace_thread.restype = None
    if not library.sonde_python_trace(which.encode()):
        return

    def first_event(frame, event, argument):
        library.sonde_python_trace_thread(frame)

    threading.setprofile(first_event)


def _probe():
    """Lets libsonde-agent.so check whether it finds this function where it looks for Python frames. The name is not a
    real variable; the agent reacts by taking Python frames or not."""
    frame = sys._getframe()
    os.unsetenv("SONDE_PYTHON_PROBE:%d:%d" % (frame.f_code.co_firstlineno, frame.f_lasti))


def _start():
    if sys.version_info >= (3, 8):
        _probe()
    folder = os.path.dirname(os.path.abspath(__file__))
    _hide(folder)
    if sys.version_info >= (3, 6) and os.environ.get("SONDE_TORCH") != "off":
        sys.meta_path.insert(0, _TorchFinder(folder))
    which = os.environ.get("SONDE_PYTHON_TRACE")
    if which:
        _trace_calls(folder, which)


try:
    _start()
except Exception:
    pass
# If there is none, the ImportError is what the importer of this module expects.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402,F401
