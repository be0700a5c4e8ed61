"""A build that every user can reach, for cases that run the tool as another user.

A checkout may lie in a home that is closed to others. The parts of the build that are run are then
copied to a place of their own.
"""

import os
import shutil
import stat
import tempfile

PARTS = ("bin", "lib", "tests/programs")


def open_to_all(path):
    """Whether any user can enter the folder."""
    path = os.path.realpath(path)
    while True:
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
        if path == os.path.dirname(path):
            return True
        path = os.path.dirname(path)


def reachable(places):
    """(places, the folder to remove afterwards or "")."""
    if open_to_all(places["build"]):
        return places, ""
    folder = tempfile.mkdtemp(prefix="sonde-e2e-build-")
    os.chmod(folder, 0o755)
    for part in PARTS:
        source = os.path.join(places["build"], part)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(folder, part), symlinks=True)
    return {**places, "build": folder, "sonde": f"{folder}/bin/sonde",
            "programs": f"{folder}/tests/programs"}, folder
