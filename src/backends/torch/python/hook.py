"""Started once torch is imported: records operators, natively or through Python, scopes and modules. SONDE_TORCH
chooses: auto (the default), native, python, modules (no operators), off. Python records operators only on request: it
costs many times as much, and the program can notice it."""

import importlib.util
import os
import sys

_PACKAGE = "_sonde_torch"


def _package():
    """This folder as a package, so that its modules find each other."""
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_loader(_PACKAGE, None, is_package=True)
    package = importlib.util.module_from_spec(spec)
    package.__path__ = [folder]
    sys.modules[_PACKAGE] = package


def _part(name):
    return importlib.import_module(_PACKAGE + "." + name)


def start(torch):
    _package()
    recorder = _part("recorder").find()
    if recorder is None:
        return
    try:
        how = os.environ.get("SONDE_TORCH", "auto")
        why_not = _part("native").start(torch) if how in ("auto", "native") else ""
        if why_not:
            recorder.inform("no operators, only modules and scopes: %s. SONDE_TORCH=python records "
                            "them through Python, at some 10 us each" % why_not)
        if how == "python":
            _part("operators").start(torch, recorder)
        if why_not is not None:
            _part("scopes").start(torch, recorder)
        _part("modules").start(torch, recorder)
    except Exception as error:
        recorder.warn("PyTorch is not recorded in full: %s: %s" % (type(error).__name__, error))
