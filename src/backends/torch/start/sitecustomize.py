# `sonde record` puts this folder in front of PYTHONPATH, so that every Python of a recorded program
# runs this file when it starts. It removes the folder again, waits for `import torch`
# (../torch/finder.py continues there), and hands over to the sitecustomize.py that would otherwise
# have been run. Any Python may run this, even version 2: on any error, the program must not notice.
# It is compiled at each start where the folder cannot be written, which takes longer than running it.
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


def _run(file):
    space = {"__name__": "_sonde_start", "__file__": file}
    with open(file, "rb") as source:  # text without an encoding warns where that is asked for
        exec(compile(source.read(), file, "exec"), space)
    return space


class _TorchFinder(object):
    """The first finder until torch has been imported. Most programs never import it, so what follows is in a file of
    its own, which they need not compile."""

    def __init__(self, folder):
        self._file = os.path.join(os.path.dirname(folder), "torch", "finder.py")
        self._finder = None

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        if self._finder is None:
            try:
                self._finder = _run(self._file)["Finder"](self)
            except Exception:
                return None
        return self._finder.find_spec(name, path, target)


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
    if which:  # sonde record --python-trace
        library = os.path.dirname(folder)
        _run(os.path.join(library, "tracing", "calls.py"))["start"](library, which)


try:
    _start()
except Exception:
    pass
# If there is none, the ImportError is what the importer of this module expects.
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402,F401
