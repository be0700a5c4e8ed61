#!/usr/bin/python3
"""Builds and installs the tool without an optional package, and uses what came of it.

optional_build.py --build BUILD --folder FOLDER NAME: NAME is one of cmake/optional.cmake, or all. The
package is not really removed: the build in FOLDER looks for it nowhere and cannot include its headers.
Objects of BUILD, which has everything, are taken where they come out the same and have included no
header that is hidden.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import reuse_object  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = str(ROOT / "tests/support/reuse_object.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("name")
    arguments = parser.parse_args()
    build, folder = os.path.abspath(arguments.build), os.path.abspath(arguments.folder)
    run("cmake", "-G", "Ninja", "-S", str(ROOT), "-B", folder, f"-DSONDE_HIDE={arguments.name}",
        "-DCMAKE_INSTALL_LIBDIR=lib64", *settings(build),
        f"-DCMAKE_C_COMPILER_LAUNCHER={LAUNCHER}",
        f"-DCMAKE_CXX_COMPILER_LAUNCHER={LAUNCHER}", "--log-level=WARNING")
    objects = objects_without(build, hidden_headers(folder))
    reuse = Path(folder) / "reuse.json"
    reuse.write_text(json.dumps(objects))
    run("cmake", "--build", folder, "--target", "product", "-j", str(arguments.jobs),
        SONDE_REUSE=str(reuse))
    with tempfile.TemporaryDirectory() as place:
        check(folder, arguments.name, place)


def settings(build):
    """What decides how an object comes out, for another build to do the same."""
    cache = {}
    for line in (Path(build) / "CMakeCache.txt").read_text().splitlines():
        if match := re.match(r"(\w+):\w+=(.*)", line):
            cache[match[1]] = match[2]
    if "CMAKE_BUILD_TYPE" not in cache:
        sys.exit(f"{build} is no build folder")
    kind = cache["CMAKE_BUILD_TYPE"].upper()
    names = ["CMAKE_BUILD_TYPE", *(f"CMAKE_{language}_{what}" for language in ("C", "CXX")
                                   for what in ("COMPILER", "FLAGS", f"FLAGS_{kind}"))]
    return [f"-D{name}={cache[name]}" for name in names if cache.get(name)]


def hidden_headers(folder):
    hidden = Path(folder) / "hidden"
    return {str(path.relative_to(hidden)) for path in hidden.rglob("*") if path.is_file()}


def objects_without(build, headers):
    """What reuse_object.py reads: the objects of `build` that have included none of the headers."""
    endings = tuple(f"/{header}" for header in headers)
    clean, current = set(), ""
    deps = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                          check=True).stdout
    for line in deps.splitlines():
        if not line.startswith(" "):
            current = line.partition(":")[0] if "(VALID)" in line else ""
            clean.add(current)
        elif line.endswith(endings):
            clean.discard(current)
    found = {}
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        made = words[words.index("-o") + 1]
        place = os.path.join(entry["directory"], made)
        if made in clean and os.path.exists(place):
            if os.path.basename(words[0]) == "ccache":
                words = words[1:]
            objects = found.setdefault(words[-1], [])  # a source may be of several targets
            objects.append({"object": place, "key": reuse_object.key(words, build)})
    return found


def check(build, name, folder):
    prefix = f"{folder}/prefix"
    sonde = f"{prefix}/bin/sonde"
    run("cmake", "--install", build, "--prefix", prefix)
    # The tool looks for its own libraries in lib, whatever this system's folder of libraries is.
    for path in Path(f"{prefix}/lib64").glob("*"):
        if path.name != "cmake":
            sys.exit(f"{path} was installed where the tool does not look")
    run(sonde, "record", "-o", f"{folder}/t.rpd", "--", "true")
    run(sonde, "info", f"{folder}/t.rpd")
    without = {
        "otf2": ([sonde, "export", "--format", "otf2", f"{folder}/t.rpd", "-o", f"{folder}/t"],
                 "otf2"),
        "zstd": ([sonde, "import", compressed(folder), "-o", f"{folder}/i.rpd"],
                 "compressed with zstd, which this build cannot unpack"),
        "json": ([sonde, "record", "--softgpu", "--", "true"], "this build has no software GPU"),
    }
    for package, (command, said) in without.items():
        if name in (package, "all"):
            refuses(command, said)
    if name in ("libdeflate", "all"):
        run(sonde, "export", f"{folder}/t.rpd", "-o", f"{folder}/t.pftrace")


def compressed(folder):
    """The first bytes of a zstd stream."""
    path = Path(folder) / "trace.json.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(12))
    return str(path)


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n"
                 f"{done.stdout[-8000:]}{done.stderr[-4000:]}")


def refuses(command, said):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (1, 2) or said not in done.stderr:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}, expected 1 or 2 and '{said}'\n"
                 f"{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
