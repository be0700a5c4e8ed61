#!/usr/bin/python3
"""Reports which machine instructions the tests have executed, from the files of softgpu --coverage.

    isa_coverage.py report [--target gfx90a] FILE...     a table by modifier, and what never ran
    isa_coverage.py check README FILE...                 whether README names all that never ran, and only that

check covers the instructions and, if LLVM's disassembler is available, each with every modifier that it can have
(isa_pairs.py). A missing FILE means that a test has not run: exit status 77. If the check passes, the files are
removed, so that the next check does not use old ones."""
import argparse
import collections
import pathlib
import re
import sys

import isa_pairs

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = isa_pairs.TARGETS
WITHOUT = "| target | instructions without a function |"
NEVER = "| target | instructions that no test executes |"
PAIRS = "| modifier | instructions that no test executes with it |"


def opcodes(target):
    """Their names."""
    return {name for _, _, name, _ in isa_pairs.rows(target)}


def executed(files, target):
    pairs = collections.defaultdict(set)
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.count(" ") == 2 and line.startswith(target + " "):
                _, name, modifier = line.split()
                pairs[modifier].add(name)
    return pairs


def listed(readme, heading, first):
    """The names in the row that begins with `first`, below this heading."""
    text = readme.read_text(encoding="utf-8")
    row = re.search(re.escape(heading) + r"\n\|---\|---\|\n(?:\|.*\n)*?\| " + first + r" \|(.*)\|\n", text)
    if row is None:
        sys.exit(f"{readme}: no row {first} below '{heading}'")
    return set(re.findall(r"`(\w+)`", row[1]))


def report(files, target):
    pairs, every = executed(files, target), opcodes(target)
    print(f"{target}: {len(set().union(*pairs.values()))} of {len(every)} instructions were executed")
    for modifier in sorted(pairs):
        print(f"  {modifier:8} {len(pairs[modifier]):5} instructions")
    print("never:", *sorted(every - set().union(*pairs.values())))
    for modifier, names in sorted((isa_pairs.possible(target) or {}).items()):
        print(f"never with {modifier}, of {len(names)}:", *sorted(names - pairs[modifier]))


def differences(readme, what, never, said):
    """The problems of a row of README, as lines."""
    lines = [f"{readme}: no test executes {name}{what}: write a test, or list it" for name in sorted(never - said)]
    lines += [f"{readme}: {name}{what} is listed as never executed, but a test does: remove it"
              for name in sorted(said - never)]
    return lines + ["it should be: " + " ".join(f"`{name}`" for name in sorted(never))] if lines else []


def check(readme, files, target="gfx90a"):
    pairs = executed(files, target)
    ran, without = set().union(*pairs.values()), listed(readme, WITHOUT, target)
    wrong = differences(readme, "", opcodes(target) - ran - without, listed(readme, NEVER, target))
    possible = isa_pairs.possible(target) or {}
    for modifier, names in sorted(possible.items()):
        wrong += differences(readme, f" with {modifier}", names - pairs[modifier] - without,
                             listed(readme, PAIRS, modifier))
    if wrong:
        print("\n".join(wrong))
        return 1
    print(f"{len(ran)} of {len(opcodes(target))} instructions of {target} were executed, and "
          f"{sum(len(names & pairs[modifier]) for modifier, names in possible.items())} of "
          f"{sum(map(len, possible.values()))} pairs of an instruction and a modifier")
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
