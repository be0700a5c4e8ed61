"""Whether the commands answer of another tool's trace, which they read directly, what they answer of the
.rpd that `sonde import` makes of it."""
import functools
import json
import pathlib
import re
import subprocess
import tempfile

# Beside the analyses that `analyze` knows: other commands, and choices of names, times and GPUs.
MORE = ("check", "check --least 0", "collectives", "diff", "ranks", "occupancy", "roofline",
        "report --format markdown -o -", "steps --step .", "steps --step . --by name", "api --name hip",
        "api --from=-50%", "top --from 20% --to 60%", "top --rank 0", "top --window kernel:.",
        "top --window marker:.", "busy --gpu 2", "kernels --kernel gemm", "kernels --window step:2",
        "breakdown --per step", "idle --window marker:.", "memory --window marker:.",
        "launches --window launched:1..2")


@functools.lru_cache(maxsize=None)
def analyses(sonde):
    """The names of all that `sonde analyze` knows."""
    listed = subprocess.run([sonde, "analyze", "--only", "?", __file__], capture_output=True, text=True)
    return tuple(re.search(r"there are: ([a-z, -]+)", listed.stderr)[1].split(", "))


def commands(sonde):
    return analyses(sonde) + MORE


def answer(sonde, command, path, names):
    """Exit status, what is said, and the warnings about the file, without its names."""
    first, *more = command.split()
    files = [path.name] * (2 if first in ("diff", "ranks") else 1)
    form = [] if "--format" in more else ["--format", "json"]
    made = subprocess.run([sonde, first, *files, *more, *form], capture_output=True, text=True,
                          timeout=120, cwd=path.parent)
    said = (made.stdout + made.stderr).replace("\\_", "_")
    for name in names:
        said = said.replace(name, "FILE")
    if not form or made.returncode != 0:
        return made.returncode, said, []
    said = json.loads(said)
    return 0, said, said.pop("warnings", [])


def unlike(sonde, path, some=None):
    """[(command, answer of the file itself, answer of the .rpd), ...] of all commands, or some. A direct
    reading does not look at what was not asked for, so that it may have nothing to say about that."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        imported = pathlib.Path(folder) / "imported.rpd"
        subprocess.run([sonde, "import", path.name, "-o", imported], capture_output=True, check=True,
                       cwd=path.parent)
        for command in some or commands(sonde):
            names = (path.name, imported.name)
            direct, other = (answer(sonde, command, each, names) for each in (path, imported))
            if direct[:2] != other[:2] or not set(direct[2]) <= set(other[2]):
                found.append((command, direct, other))
    return found
