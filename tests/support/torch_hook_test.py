#!/usr/bin/python3
"""What a Python program sees of the PyTorch backend's way in: torch_hook_test.py BUILD_FOLDER.

Runs every Python at hand with Sonde's sitecustomize.py in front, with and without one of the user's
own behind it, and with a stand-in for torch. One line per broken promise; exit 1 if there is any.
"""

import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHOW = """
import json, os, sys
try:
    import sitecustomize
    file = getattr(sitecustomize, "__file__", None)
except ImportError:
    file = None
import torch
print(json.dumps({"path": sys.path, "variable": os.environ.get("PYTHONPATH"), "site": file,
                  "finders": len(sys.meta_path), "loaded": "sitecustomize" in sys.modules,
                  "loader": sorted(vars(torch.__spec__.loader)) if hasattr(torch, "__spec__")
                  else None}))
"""


def interpreters():
    found = {"/usr/bin/python3": None}
    for pattern in ("/usr/bin/python[23].[0-9]*",
                    os.path.expanduser("~/.pyenv/versions/*/bin/python")):
        for path in sorted(glob.glob(pattern)):
            if "-" not in os.path.basename(path):
                found.setdefault(os.path.realpath(path))
    return [path for path in found if shutil.which(path)]


def show(python, folders, *options):
    environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    if folders:
        environment["PYTHONPATH"] = ":".join(map(str, folders))
    done = subprocess.run([python, *options, "-c", SHOW], env=environment, capture_output=True,
                          text=True)
    if done.returncode != 0:
        return done.stderr
    return json.loads(done.stdout), done.stderr


def check_hidden(python, start, folder, problems):
    """With ours in front everything is as without."""
    fake, user, broken = folder / "fake", folder / "user", folder / "broken"
    for folders in ([fake], [fake, user], [fake, broken], [user, fake]):
        for options in ([], ["-s"]):
            without = show(python, folders, *options)
            within = show(python, [start, *folders], *options)
            if without != within:
                problems.append(f"{python} with {folders}: {within} instead of {without}")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def check_native(build, problems):
    """A libtorch of another version or ABI is refused, and nothing is loaded for it."""
    script = """
import sys, types
package = types.ModuleType("_sonde_torch"); package.__path__ = [sys.argv[1]]
sys.modules["_sonde_torch"] = package
from _sonde_torch import build, native
build.VERSION = "1.13.0"
def torch(version, abi):
    return types.SimpleNamespace(__version__=version,
                                 _C=types.SimpleNamespace(_GLIBCXX_USE_CXX11_ABI=abi))
for each in (torch("2.4.1+cu121", True), torch("1.13.1", True), torch("1.13.0a0", False),
             torch("1.13.0", True)):
    print(native.start(each))
print("libsonde-torch" in open("/proc/self/maps").read())
"""
    done = subprocess.run(["/usr/bin/python3", "-c", script, build / "lib/sonde/torch"],
                          capture_output=True, text=True)
    lines = done.stdout.splitlines()
    # The last one has the version, but no libtorch is loaded in this program.
    wanted = ["this is torch 2.4.1+cu121", "this is torch 1.13.1", "another C++ ABI", "not in lib",
              "False"]
    if len(lines) != len(wanted) or any(part not in line for part, line in zip(wanted, lines)):
        problems.append(f"native.py: {lines} {done.stderr}")


def main(build):
    build, problems = pathlib.Path(build).resolve(), []
    start = build / "lib/sonde/start"
    pythons = interpreters()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(folder / "fake/torch/__init__.py", "nn = None\n")
        write(folder / "user/sitecustomize.py", "import sys\nsys.user_was_here = 1\n")
        write(folder / "broken/sitecustomize.py", "raise ValueError('of the user')\n")
        for python in pythons:
            check_hidden(python, start, folder, problems)
    check_native(build, problems)
    print(f"interpreters: {len(pythons)}")
    print("\n".join(problems) or "the hook keeps its promises")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
