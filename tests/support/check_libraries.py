#!/usr/bin/python3
"""Checks the libraries that are loaded into traced programs: check_libraries.py BUILD_FOLDER.

Each needs nothing but libc (PyTorch's also libtorch, the HSA runtime's tool what is preloaded), no symbol of
glibc newer than 2.28 (PyTorch's those of libtorch), exports only what its version script names, has at most 64 bytes of thread-local
storage and one initialiser of its own, and is never unloaded. The one that is preloaded is the agent and
two backends, and may have what three may have; it is under 600 KB. One line per violation; exit 1 if there
is any.
"""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The two in the middle are parts of libc since glibc 2.34.
ALLOWED_NEEDED = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}
NEWEST_GLIBC = (2, 28)
# Of libtorch's, which has been loaded with all it needs before.
ALLOWED_OF_TORCH = re.compile(r"(libtorch_cpu|libc10|libstdc\+\+|libgcc_s|libm)\.so[.\d]*")
MAX_TLS_BYTES = 64
MAX_PRELOADED_BYTES = 600_000  # of the file that is mapped; debug information is not
MAX_INITIALISERS = 1  # and the compiler's own (frame_dummy)
PRELOADED, PRELOADED_PARTS = "libsonde-agent.so", 3
HSA_TOOL = "libsonde-hsa-tool.so"  # calls it


def main(build):
    folder = Path(build, "lib", "sonde")
    libraries = sorted(p for p in [*folder.glob("*.so"), *folder.glob("drop-in/*.so")] if not p.is_symlink())
    problems = []
    if not any(p.name == PRELOADED for p in libraries):
        problems.append(f"{build}/lib/sonde has no {PRELOADED}")
    for library in libraries:
        problems += [f"{library.name}: {problem}" for problem in check(library)]
    print("\n".join(problems) or f"libraries: {len(libraries)} keep their promises")
    return 1 if problems else 0


def check(library):
    problems = []
    dynamic = readelf("-dW", library)
    needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", dynamic))
    needed -= ALLOWED_NEEDED
    if library.name == HSA_TOOL:
        needed.discard(PRELOADED)
    if library.name == "libsonde-torch.so":
        needed = {name for name in needed if not ALLOWED_OF_TORCH.fullmatch(name)}
    if needed:
        problems.append(f"needs {', '.join(sorted(needed))}")
    new = newer_symbols(readelf("--dyn-syms", "-W", library))
    if new and library.name != "libsonde-torch.so":
        problems.append(f"needs {', '.join(new)}; at most GLIBC_{NEWEST_GLIBC[0]}.{NEWEST_GLIBC[1]}")
    if "NODELETE" not in dynamic:
        problems.append("could be unloaded (no -z nodelete)")
    allowed = allowed_exports(library)
    extra = [name for name in exported(readelf("--dyn-syms", "-W", library))
             if not any(fnmatch.fnmatchcase(name, pattern) for pattern in allowed)]
    if extra:
        problems.append(f"exports {', '.join(sorted(extra))}")
    headers = readelf("-lW", library)
    tls = sum(size for kind, _, size in segments(headers) if kind == "TLS")
    parts = PRELOADED_PARTS if library.name == PRELOADED else 1
    if tls > parts * MAX_TLS_BYTES:
        problems.append(f"{tls} bytes of thread-local storage, at most {parts * MAX_TLS_BYTES}")
    loaded = sum(size for kind, size, _ in segments(headers) if kind == "LOAD")
    if library.name == PRELOADED and loaded > MAX_PRELOADED_BYTES:
        problems.append(f"{loaded} bytes, at most {MAX_PRELOADED_BYTES}")
    count = initialisers(readelf("-SW", library)) - 1
    if count > parts * MAX_INITIALISERS:
        problems.append(f"{count} initialisers of its own, at most {parts * MAX_INITIALISERS}")
    return problems


def readelf(*arguments):
    return subprocess.run(["readelf", *map(str, arguments)], capture_output=True, text=True,
                          check=True).stdout


def newer_symbols(symbols):
    """Undefined symbols of `readelf --dyn-syms -W` that glibc 2.28 does not have, with versions."""
    found = re.findall(r"\bUND (\S+)@(GLIBC_(\d+)\.(\d+)\S*)", symbols)
    return sorted(f"{name}@{version}" for name, version, major, minor in found
                  if (int(major), int(minor)) > NEWEST_GLIBC)


def exported(symbols):
    """Names of defined global and weak symbols of `readelf --dyn-syms -W`."""
    names = set()
    for line in symbols.splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[4] in ("GLOBAL", "WEAK") and fields[6] not in ("UND", "ABS"):
            names.add(fields[7].split("@")[0])
    return names


def allowed_exports(library):
    """What the version scripts in the library's folder list as global."""
    if library.parent.name == "drop-in":
        return global_names((ROOT / "dropin/lib" / f"{library.stem.removeprefix('lib')}.map").read_text())
    name = library.stem.removeprefix("libsonde-")
    if library.name == PRELOADED:
        return global_names((ROOT / "src/backends/preloaded.map").read_text())
    folder = ROOT / "src" / "backends" / name.replace("-", "_")
    return set().union(*(global_names(script.read_text()) for script in folder.glob("*.map")))


def global_names(script):
    script = re.sub(r"#.*|/\*.*?\*/", "", script)
    names = set()
    for block in re.findall(r"global:(.*?)(?:local:|\})", script, re.DOTALL):
        names |= set(re.findall(r"[\w.*]+", block))
    return names


def segments(headers):
    """(type, bytes in the file, bytes in memory) of `readelf -lW`."""
    pattern = r"^\s+(LOAD|TLS)\s+\S+\s+\S+\s+\S+\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]+)"
    for kind, in_file, in_memory in re.findall(pattern, headers, re.MULTILINE):
        yield kind, int(in_file, 16), int(in_memory, 16)


def initialisers(sections):
    match = re.search(r"\.init_array\s+INIT_ARRAY\s+\S+\s+\S+\s+([0-9a-f]+)", sections)
    return int(match.group(1), 16) // 8 if match else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
