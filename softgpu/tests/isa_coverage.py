#!/usr/bin/python3
"""Which instructions of machine code the tests have executed, from the files of softgpu --coverage.

    isa_coverage.py report [--target gfx90a] FILE...     a table by modifier, and what never ran
    isa_coverage.py check README FILE...                 whether README names all that never ran, and only that

A FILE that is missing is a test that has not run: exit status 77. What is checked was collected by
these very files, so they are removed when all is well."""
import argparse
import collections
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
OPCODES = HERE.parents[1] / "src/gpu/opcodes.inc"
TARGETS = ("gfx906", "gfx908", "gfx90a")
WITHOUT = "| target | instructions without a function |"
NEVER = "| target | instructions that no test executes |"


def opcodes(target):
    """Names, with the formats that have them."""
    found = collections.defaultdict(set)
    for line in OPCODES.read_text(encoding="utf-8").splitlines():
        match = re.match(r'\{Format::k(\w+), \d+, (\d+), "(\w+)"', line)
        if match and int(match[2]) >> TARGETS.index(target) & 1:
            found[match[3]].add(match[1])
    return found


def executed(files, target):
    pairs = collections.defaultdict(set)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.count(" ") == 2 and line.startswith(target + " "):
                _, name, modifier = line.split()
                pairs[modifier].add(name)
    return pairs


def listed(readme, heading, target):
    """The names in the row of the target, below this heading."""
    text = readme.read_text(encoding="utf-8")
    row = re.search(re.escape(heading) + r"\n\|---\|---\|\n(?:\|.*\n)*?\| " + target + r" \|(.*)\|\n", text)
    if row is None:
        sys.exit(f"{readme}: no row {target} below '{heading}'")
    return set(re.findall(r"`(\w+)`", row[1]))


def report(files, target):
    pairs, every = executed(files, target), opcodes(target)
    print(f"{target}: {len(set().union(*pairs.values()))} of {len(every)} instructions were executed")
    for modifier in sorted(pairs):
        print(f"  {modifier:8} {len(pairs[modifier]):5} instructions")
    print("never:", *sorted(set(every) - set().union(*pairs.values())))
    short = {name for name, formats in every.items() if formats & {"Vop1", "Vop2", "Vopc"}}
    for modifier in ("sdwa", "dpp", "literal", "e64"):
        print(f"VOP1, VOP2 and VOPC never with {modifier}:", *sorted(short - pairs[modifier]))


def check(readme, files, target="gfx90a"):
    ran = set().union(*executed(files, target).values())
    never = set(opcodes(target)) - ran - listed(readme, WITHOUT, target)
    said = listed(readme, NEVER, target)
    for name in sorted(never - said):
        print(f"{readme}: no test executes {name}: write a test, or list it")
    for name in sorted(said - never):
        print(f"{readme}: {name} is listed as never executed, but a test does: remove it")
    if never != said:
        print(f"it should be: | {target} |", *(f"`{name}`" for name in sorted(never)), "|")
        return 1
    print(f"{len(ran)} of {len(opcodes(target))} instructions of {target} were executed")
    for file in files:
        file.unlink()
    return 0


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    reporting = verbs.add_parser("report")
    reporting.add_argument("--target", default="gfx90a", choices=TARGETS)
    checking = verbs.add_parser("check")
    checking.add_argument("readme", type=pathlib.Path)
    for verb in (reporting, checking):
        verb.add_argument("files", type=pathlib.Path, nargs="+")
    args = parser.parse_args()
    missing = [file.name for file in args.files if not file.exists()]
    if missing:
        print("skipped: these have not run:", *missing)
        return 77
    if args.verb == "report":
        report(args.files, args.target)
        return 0
    return check(args.readme, args.files)


if __name__ == "__main__":
    sys.exit(main())
