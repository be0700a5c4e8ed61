#!/usr/bin/python3
"""What an SMI tool prints for a list of options, kept in a file: `record FILE COMMAND...` writes it with the
tool itself, `compare FILE COMMAND...` runs another in its place and names every difference.

The file has a block for each list of options: "$ OPTIONS", the lines of standard output, "status N". A
carriage return is written as \\r."""
import difflib
import re
import subprocess
import sys
from pathlib import Path

HEAD = "$ "


def run(command, options):
    done = subprocess.run([*command, *options.split()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=60, check=False)
    shown = done.stdout.decode().replace("\r", "\\r")
    return f"{shown}status {done.returncode}\n"


def blocks_of(text):
    for block in re.split(r"^\$ ", text, flags=re.M)[1:]:
        options, _, output = block.partition("\n")
        yield options, output


def main(mode, file, *command):
    file = Path(file)
    blocks = list(blocks_of(file.read_text()))
    if mode == "record":
        file.write_text("".join(f"{HEAD}{options}\n{run(command, options)}" for options, _ in blocks))
        return 0
    wrong = 0
    for options, expected in blocks:
        found = run(command, options)
        if found == expected:
            continue
        wrong += 1
        print(f"differs: {options}")
        sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), found.splitlines(True), "theirs", "ours"))
    print(f"compared {len(blocks)}, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
