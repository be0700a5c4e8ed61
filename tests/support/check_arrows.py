#!/usr/bin/python3
"""Checks the sources against the rules of ARCHITECTURE.md and STYLE.md that a program can check.

Which folder includes which (the table of ARCHITECTURE.md), that the folders within one go no circle, that SQLite stays
behind store/ and SQL where files are read and written, that the side that runs in the traced program
uses no C++ runtime, that no file and no function is too long, and that no file names a machine's own
paths. One line per violation; exit 1 if there is any.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES = 500
MAX_FUNCTION_LINES = 60

IN_TARGET = {"agent", "backends"}
SQLITE_FOLDERS = {"store", "cli"}  # cli: `sonde query` tells column types apart
# Those beside store read through its views, and importers write what store has no rows for.
SQL_FOLDERS = {"store", "importers", "trace", "timeline", "export", "serve", "cli"}
SQL = re.compile(r'"(?:SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA) ', re.IGNORECASE)
# Headers that bring in the C++ runtime or allocate behind the writer's back.
RUNTIME_HEADERS = {"string", "vector", "map", "unordered_map", "set", "iostream", "sstream",
                   "fstream", "memory", "functional", "thread", "mutex", "stdexcept", "regex",
                   "fmt/format.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
# Home folders and this kind of absolute path have no place in the repository.
MACHINE_PATH = re.compile(r"(?<![\w.{}$/-])/(?:home|root|work|Users)/[\w.-]+")
# A package that is looked for and may be missing.
OPTIONAL = re.compile(r"^ *(?:find_(?:package|path|file|library|program)|check_include_file)"
                      r"(?:_cxx)?\((?![^)]*REQUIRED)[^)]*\)", re.MULTILINE)


def arrows_of(text):
    """folder -> folders it may include, besides include/sonde/: the table of ARCHITECTURE.md."""
    rows = re.findall(r"^\| `(src/|)(\w+)/?\*?` \|.*\| ([^|]*) \|$", text, re.MULTILINE)
    everything = {folder for place, folder, _ in rows if place}
    return {folder: (everything if allowed == "everything" else
                     {"base", *re.findall(r"\w+", allowed)}) - {folder}
            for _, folder, allowed in rows}


ARROWS = arrows_of((ROOT / "ARCHITECTURE.md").read_text())


def main():
    problems = []
    texts = {path: (ROOT / path).read_text(errors="replace")
             for path in tracked_files() if (ROOT / path).is_file()}
    for path, text in texts.items():
        problems += check_file(path, text)
    problems += check_circles(texts)
    problems += check_folders({folder_of(path) for path in texts if len(path.parts) > 1})
    problems += check_packages((ROOT / "packages.txt").read_text(),
                               (ROOT / "docs/dependencies.md").read_text())
    print("\n".join(problems) or "arrows: every include goes the allowed way")
    return 1 if problems else 0


def check_folders(folders):
    """One line for each folder that ARCHITECTURE.md has and the tree has not."""
    return [f"ARCHITECTURE.md: there is no folder {folder}" for folder in sorted(set(ARROWS) - folders)]


def check_packages(packages, page):
    """One line for each package that ./dev may install and docs/dependencies.md gives no reason for."""
    named = set(re.findall(r"[\w.+-]+", page))
    wanted = re.findall(r"^([\w.+-]+)", packages, re.MULTILINE)
    return [f"docs/dependencies.md: does not say what {package} is for"
            for package in sorted(set(wanted) - named)]


def tracked_files():
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [Path(line) for line in listed.splitlines()]
    except (OSError, subprocess.CalledProcessError):  # not a checkout: an unpacked archive
        folders = ("src", "include", "tests", "examples", "docs", "cmake", "tools")
        return [p.relative_to(ROOT) for f in folders for p in (ROOT / f).rglob("*") if p.is_file()]


def check_file(path, text):
    """Violations of one file, `path` relative to the project."""
    problems = []
    is_source = path.suffix in (".h", ".c", ".cpp", ".py", ".sh")
    lines = text.count("\n")
    if is_source and lines > MAX_LINES:
        problems.append(f"{path}: {lines} lines, at most {MAX_LINES}")
    if path.suffix in (".h", ".c", ".cpp"):
        problems += [f"{path}:{first}: a function of {lines} lines, at most {MAX_FUNCTION_LINES}"
                     for first, lines in functions(text) if lines > MAX_FUNCTION_LINES]
    if is_source or path.suffix in (".md", ".txt", ".toml", ".cmake"):
        for match in MACHINE_PATH.finditer(text):
            row = text.count("\n", 0, match.start()) + 1
            problems.append(f"{path}:{row}: a path of one machine: {match.group(0)}")
    if path.suffix in (".h", ".c", ".cpp") and path.parts[0] in ("src", "softgpu"):
        problems += check_includes(path, text)
    if path.name == "CMakeLists.txt":
        for match in OPTIONAL.finditer(text):
            row = text.count("\n", 0, match.start()) + 1
            problems.append(f"{path}:{row}: what is not REQUIRED is looked for in "
                            f"cmake/optional.cmake only: {match.group(0).strip()}")
    return problems


def functions(text):
    """The first line and the number of lines of each function whose braces are in the first column,
    as the layout has all but those within classes."""
    first, opened = 0, False
    for row, line in enumerate(text.splitlines(), 1):
        if line == "}" and opened:
            yield first, row - first + 1
        if line[:1].isalpha() or line[:1] in "_[}":
            first, opened = row, False
        opened = opened or line.endswith("{")


def folder_of(path):
    return path.parts[1] if path.parts[0] == "src" else path.parts[0]


def check_includes(path, text):
    folder = folder_of(path)
    if folder not in ARROWS:
        return [f"{path}: src/{folder} has no row in the table of ARCHITECTURE.md"]
    is_test = path.stem.endswith(("_test", "_test_support"))
    problems = []
    for match in INCLUDE.finditer(text):
        quoted, header = match.group(1) == '"', match.group(2)
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        top = header.split("/")[0]
        if quoted and "/" in header and top in ARROWS and top != folder:
            if top not in ARROWS[folder]:
                problems.append(f"{where}: {folder} must not include {top} ({header})")
        if header == "sqlite3.h" and folder not in SQLITE_FOLDERS and not is_test:
            problems.append(f"{where}: {folder} must not include sqlite3.h")
        if folder in IN_TARGET and not is_test and header in RUNTIME_HEADERS:
            problems.append(f"{where}: <{header}> does not belong in the traced program")
    if folder not in SQL_FOLDERS and not is_test:
        problems += [f"{path}:{text.count(chr(10), 0, match.start()) + 1}: SQL does not belong in {folder}"
                     for match in SQL.finditer(text)]
    return problems


def check_circles(texts):
    """One line for each circle of includes between the folders within a folder of src/. A header that
    stands beside such folders, and not in one, counts for itself; nothing includes a source."""
    graph = {}
    for path, text in texts.items():
        if path.parts[0] != "src" or path.suffix not in (".h", ".cpp") or len(path.parts) < 3:
            continue
        if path.stem.endswith(("_test", "_test_support")):
            continue
        if len(path.parts) == 3 and path.suffix == ".cpp":
            continue
        node = place(path.parts[1:])
        for match in INCLUDE.finditer(text):
            parts = tuple(match.group(2).split("/"))
            if match.group(1) == '"' and len(parts) > 1 and parts[0] == path.parts[1]:
                graph.setdefault(node, set()).add(place(parts))
    return [f"src: a circle of includes: {' -> '.join(circle)}" for circle in circles(graph)]


def place(parts):
    return "/".join(parts[:2]) if len(parts) > 2 else "/".join(parts).rsplit(".", 1)[0]


def circles(graph):
    """The circles that a walk through the graph meets, each as a list that ends as it begins."""
    found, done = [], set()

    def walk(node, trail):
        if node in trail:
            found.append([*trail[trail.index(node):], node])
        elif node not in done:
            for after in sorted(graph.get(node, set()) - {node}):
                walk(after, [*trail, node])
            done.add(node)

    for node in sorted(graph):
        walk(node, [])
    return found


if __name__ == "__main__":
    sys.exit(main())
