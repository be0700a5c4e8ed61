"""Operators through libsonde-torch.so, if it was built for the program's libtorch."""

import ctypes
import os
import re

from _sonde_torch import build


def _is_loaded(name):
    try:
        ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


def start(torch):
    """None, or why operators cannot be recorded natively."""
    if not build.VERSION:
        return "Sonde was built without libtorch's headers"
    version = re.match(r"\d+\.\d+\.\d+", str(torch.__version__))
    if version is None or version.group() != build.VERSION:
        return "this is torch %s, Sonde was built for %s" % (torch.__version__, build.VERSION)
    if bool(torch._C._GLIBCXX_USE_CXX11_ABI) != build.CXX11_ABI:
        return "this torch has another C++ ABI"
    for name in build.NEEDED:  # otherwise the linker would load a second libtorch
        if not _is_loaded(name):
            return "this torch is not in " + name
    try:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        library = ctypes.CDLL(os.path.join(folder, "libsonde-torch.so"))
    except OSError as error:
        return str(error)
    return None if library.sonde_torch_start() else "libtorch does not take a callback"
