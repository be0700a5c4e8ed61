#!/usr/bin/python3
"""Runs every command line of README.md and the documentation: commands_test.py --build DIR [REGEX].

Each must end with 0, in a folder that has the files it names (world.py). What cannot run as it is
written is in replaced.toml, with what is run instead and why; an entry that no page has is an error,
and so is one that is not needed. One line per failure.
"""

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import lines  # noqa: E402
import world  # noqa: E402

ROOT = world.ROOT


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("filter", nargs="?", default="", help="only lines that this regex finds")
    arguments = parser.parse_args()
    replaced = load(Path(__file__).resolve().parent / "replaced.toml")
    programs = [f"{arguments.build}/bin"]
    found = [line for page in pages(Path(arguments.build)) for line in
             lines.lines_of(page, name_of(page), programs)]
    texts = {line.text for line in found}
    problems = [f"replaced.toml: no page has the line: {text}" for text in replaced
                if text not in texts]
    print("\n".join(problems))
    by_text = {}
    for line in found:  # a line that several pages have is run once
        if re.search(arguments.filter, line.text):
            by_text.setdefault((line.kind, line.text), line)
    with tempfile.TemporaryDirectory(prefix="sonde-docs-") as folder:
        place = world.World(folder, arguments.build)
        for line in by_text.values():
            problem = CHECKS[line.kind](line, replaced, place)
            if problem:
                problems.append(f"{line.where}: {line.text}\n    {problem}")
                print(problems[-1], flush=True)
    counts = ", ".join(f"{sum(kind == key[0] for key in by_text)} {kind}s" for kind in CHECKS)
    print(f"{counts}; {len(replaced)} replaced, {len(problems)} problems")
    return 1 if problems else 0


def pages(build):
    """Everything that is written for people, but what changed when: the files, and those that the
    build prints from the help."""
    done = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True,
                          check=False)
    names = done.stdout.split() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.md")]
    printed = sorted((build / "share/doc/sonde").rglob("*.md"))
    if not printed:
        sys.exit(f"{build}: no pages in share/doc/sonde; build the target pages")
    return [ROOT / name for name in names if name != "CHANGELOG.md"] + printed


def name_of(page):
    return str(page.relative_to(ROOT) if page.is_relative_to(ROOT) else page)


def load(path):
    with open(path, "rb") as file:
        table = tomllib.load(file)
    entries = {}
    for entry in table["line"]:
        if set(entry) - {"text", "run", "why", "needs"} or not entry.get("why") or "run" not in entry:
            sys.exit(f"{path}: an entry has text, run and why, and perhaps needs: {entry}")
        for text in [entry["text"]] if isinstance(entry["text"], str) else entry["text"]:
            if text in entries:
                sys.exit(f"{path}: twice: {text}")
            entries[text] = entry
    return entries


def check_command(line, replaced, place):
    if lines.first_word(line.text) == "./dev":
        return dev_verb(line.text)
    entry = replaced.get(line.text, {})
    if lines.first_word(line.text) == "softgpu" and not missing_is_said("bin/softgpu", place):
        return None
    if any(not missing_is_said(need, place) for need in entry.get("needs", [])):
        return None
    command = entry.get("run", line.text)
    if not command:
        return None
    settings = f"src={shlex.quote(str(ROOT))} build={shlex.quote(str(place.build))}"
    status, output = place.run(f"{settings} text={shlex.quote(line.text)}; {command}")
    if status != 0:
        return f"exit {status}: {' / '.join(output.strip().splitlines()[-6:])}"
    return None


def dev_verb(text):
    """Builds, tests or changes the checkout that this runs from: here only that there is the verb."""
    verb = (text.split() + ["help"])[1]
    there = f"\nverb_{verb}() {{" in (ROOT / "dev").read_text()
    return None if there else "./dev has no such verb"


def missing_is_said(need, place):
    """Whether a file of the build, or a program, is there."""
    there = (place.build / need).exists() or shutil.which(need) is not None
    if not there:
        print(f"skip lines that need {need}")
    return there


def check_mention(line, replaced, place):
    """The command and the options are there."""
    if lines.first_word(line.text) == "softgpu" and not missing_is_said("bin/softgpu", place):
        return None
    if line.text in replaced:
        return check_command(line, replaced, place)
    words = line.text.split()
    verb = words[1] if not words[1].startswith("-") else ""
    status, text = place.run(f"{words[0]} {verb} --help")
    if status != 0:
        return f"{words[0]} {verb} --help: exit {status}"
    for option in re.findall(r"(?<!\S)--?[a-z][\w-]*", line.text.split(" -- ")[0]):
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
            return f"{words[0]} {verb} has no option {option}"
    return None


def check_query(line, _, place):
    (place.made / ".query.sql").write_text(line.text.rstrip(";") + ";\n")
    status, output = place.run("sqlite3 trace.rpd < .query.sql")
    return None if status == 0 else output.strip()


CHECKS = {"command": check_command, "mention": check_mention, "query": check_query}

if __name__ == "__main__":
    sys.exit(main())
