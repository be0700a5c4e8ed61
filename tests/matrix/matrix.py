#!/usr/bin/python3
"""Builds and tries Sonde on several releases of Debian, each in a root of its
own, and prints one table.

    ./dev matrix [SUITE...]
        bookworm and trixie by default; sid and others may be named
    ./dev matrix enter SUITE [COMMAND...]
        a shell, or a command, in a root's checkout
    ./dev matrix table [SUITE...]
        what was found last, without running anything

  --areas REGEX    only these areas (packages and build run before any)
  --list           the areas
  --again          also those that have passed with this commit
  --fresh          make the root anew
  --markdown       the table as markdown
  --roots FOLDER   where roots are kept: SONDE_MATRIX_ROOTS, or sonde/matrix in
                   the user's cache
  --mirror URL     where mmdebstrap gets Debian from

What is tried is the commit that is checked out when it starts, not what changes
later. Needs root, mmdebstrap, and some 12 GB of disk for each suite. Exits with
1 where an area of bookworm or trixie has not passed.

    ./dev matrix trixie
    ./dev matrix sid --areas 'hip|hsa'
    ./dev matrix enter trixie ./dev demo
"""

import argparse
import os
import re
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import areas as area_list  # noqa: E402
import results  # noqa: E402
import summarise  # noqa: E402
from root import CHECKOUT, MIRROR, Root, RootError, free_bytes, git, may_change_root  # noqa: E402

REQUIRED = ("bookworm", "trixie")  # must pass; others are reported
SUITES = (*REQUIRED, "sid", "forky")
PACKAGES_OF = "dpkg-query -W -f '${Package} ${Version}\\n'"


def say(text):
    print(text, flush=True)


def check_disk(roots):
    """Names what all of them together need before any of it is taken."""
    needed = sum(root.needed_bytes() for root in roots)
    free = free_bytes(roots[0].folder)
    if free < needed:
        raise RootError(f"{roots[0].folder} has {free / 1e9:.1f} GB free, and "
                        f"{', '.join(root.suite for root in roots)} may take {needed / 1e9:.1f} GB: free some, or"
                        " name another folder with --roots")
    say(f"roots in {roots[0].folder}: at most {needed / 1e9:.1f} GB more, of {free / 1e9:.1f} GB free")


class Run:
    """One suite: its root, what was found in it, and the logs."""

    def __init__(self, root, options, commit):
        self.root, self.options, self.commit = root, options, commit
        self.state = root.folder / f"{root.suite}.json"
        self.logs = root.folder / "logs" / root.suite
        self.logs.mkdir(parents=True, exist_ok=True)
        self.found = results.load(self.state)
        self.data = data_folder()

    def prepare(self):
        if self.options.fresh:
            self.root.remove()
            self.found = {"areas": {}}
        if not self.root.exists():
            say(f"{self.root.suite}: making the root")
            self.root.make(self.logs / "root.log", self.options.mirror)
        self.root.clone(REPOSITORY, self.commit)

    def areas(self, chosen):
        for area in chosen:
            if not self.options.again and results.is_done(self.found, area.name, self.commit):
                say(f"{self.root.suite}: {area.name}: {self.found['areas'][area.name]['text']} before")
                continue
            outcome = self.area(area)
            if outcome["state"] != "passed" and area in (area_list.PACKAGES, area_list.BUILD):
                say(f"{self.root.suite}: nothing more can be run: {self.logs / area.name}.log")
                break

    def area(self, area):
        say(f"{self.root.suite}: {area.name} ...")
        begun = time.monotonic()
        junit = self.root.path / CHECKOUT[1:] / area.junit() if area.junit() else None
        if junit:
            junit.unlink(missing_ok=True)
        status = self.root.run(area.command(), self.logs / f"{area.name}.log", self.data, area.limit_s)
        outcome = results.of_status(status, junit, summarise.summarise)
        outcome.update(seconds=time.monotonic() - begun, commit=self.commit, date=time.strftime("%Y-%m-%d"))
        self.found["areas"][area.name] = outcome
        self.found.update(commit=self.commit, date=outcome["date"])
        if area is area_list.PACKAGES:
            self.record_packages()
        if area is area_list.BUILD:
            left_out = self.root.path / CHECKOUT[1:] / "build/left_out.txt"
            self.found["left_out"] = left_out.read_text().splitlines() if left_out.exists() else []
        results.save(self.state, self.found)
        say(f"{self.root.suite}: {area.name}: {outcome['text']}, {outcome['seconds']:.0f} s")
        for test in outcome["failed"]:
            say(f"    FAILED {test}")
        return outcome

    def record_packages(self):
        listing = self.root.ask(PACKAGES_OF)
        (self.root.folder / f"{self.root.suite}.packages.txt").write_text(listing)
        self.found["versions"] = results.versions_of(listing)


def show(folder, suites, markdown=False):
    """Prints the table and what is to be said of it; whether all is well."""
    found = {suite: results.load(folder / f"{suite}.json") for suite in suites}
    known = results.load_known(HERE / "known.toml")
    say("")
    say(results.table(suites, found, area_list.AREAS, markdown))
    for suite in suites:
        for line in results.remarks(suite, found[suite], known):
            say(line)
    for line in results.compared(suites, found):
        say(line)
    return found


def run(options, suites):
    if not may_change_root():
        raise RootError("./dev matrix needs root, for mmdebstrap and chroot")
    roots = [Root(options.roots, suite) for suite in suites]
    check_disk(roots)
    locks = [root.lock() for root in roots]  # noqa: F841 - held until the process ends
    commit = git(REPOSITORY, "rev-parse", "HEAD")
    if git(REPOSITORY, "status", "--porcelain", "--untracked-files=no"):
        say("what has been changed since the last commit is not tried")
    chosen = area_list.named(options.areas)
    for root in roots:
        one = Run(root, options, commit)
        one.prepare()
        one.areas(chosen)
    found = show(options.roots, suites, options.markdown)
    return 0 if all(results.is_green(found[suite], chosen) for suite in suites if suite in REQUIRED) else 1


def table(options, suites):
    show(options.roots, suites, options.markdown)
    return 0


def enter(options, words):
    if not words:
        raise RootError("enter which suite? ./dev matrix enter trixie")
    check_suites(words[:1])
    root = Root(options.roots, words[0])
    if not root.exists():
        raise RootError(f"there is no root of {words[0]} in {options.roots}: ./dev matrix {words[0]}")
    return root.enter(words[1:], data_folder())


def data_folder():
    """The test data of the checkout, where it has any."""
    data = Path(os.environ.get("SONDE_SHARED", REPOSITORY.parent / "shared"))
    return data.resolve() if data.is_dir() else None


def check_suites(suites):
    for suite in suites:
        if suite not in SUITES:
            raise RootError(f"'{suite}' is no suite that is known here: {', '.join(SUITES)}")


def parse(words):
    """Options, verb, and what the verb is about. What follows "enter" is the command's."""
    ours, rest, verb = words, [], "run"
    if "enter" in words:
        at = words.index("enter")
        ours, rest, verb = words[:at], words[at + 1:], "enter"
    parser = argparse.ArgumentParser(prog="./dev matrix", add_help=False)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser.add_argument("--areas", default="")
    for flag in ("--list", "--again", "--fresh", "--markdown"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--mirror", default=MIRROR)
    parser.add_argument("--roots", type=Path,
                        default=Path(os.environ.get("SONDE_MATRIX_ROOTS") or cache / "sonde/matrix"))
    parser.add_argument("suites", nargs="*")
    options = parser.parse_intermixed_args(ours)
    if verb == "enter":
        return options, verb, rest
    suites = options.suites
    if suites[:1] == ["table"]:
        suites, verb = suites[1:], "table"
    check_suites(suites)
    return options, verb, suites or list(REQUIRED)


def main(words):
    if "enter" not in words and ("-h" in words or "--help" in words):
        print(__doc__.strip())
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what runs in a root ends, too
    try:
        options, verb, about = parse(words)
        if options.list:
            for area in area_list.AREAS:
                print(f"{area.name:10} {area.what}")
            return 0
        try:
            re.compile(options.areas)
        except re.error as error:
            raise RootError(f"--areas '{options.areas}' is no regular expression: {error}") from error
        if not any(re.search(options.areas, area.name) for area in area_list.AREAS):
            raise RootError(f"--areas '{options.areas}' is none of the areas: --list shows them")
        return {"run": run, "table": table, "enter": enter}[verb](options, about)
    except RootError as error:
        print(f"./dev matrix: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever reads the table has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
