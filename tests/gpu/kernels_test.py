#!/usr/bin/python3
"""Compares the kernels that Sonde finds in code objects with those that llvm-readelf finds.

    kernels_test.py --list PROGRAM [--readelf llvm-readelf-15] [--library FILE...] [--most N]

Takes the same libraries as objdump_test.py. Exit 77 if there is nothing to compare."""
import pathlib
import re
import subprocess
import sys
import tempfile

import objdump_test


def expected(options, path):
    """Of each kernel of the file what its notes and symbols say, as list_kernels writes it."""
    text = subprocess.run([options.readelf, "--notes", "--symbols", "--wide", path], capture_output=True, text=True,
                          check=True).stdout
    entries = {}
    for value, kind, name in re.findall(r"^\s*\d+: ([0-9a-f]+)\s+\S+ (FUNC|OBJECT)\s+\S+\s+\S+\s+\S+ (\S+)$", text,
                                        re.M):
        entries.setdefault(name, int(value, 16))
    kernels = {}
    listed = re.split(r"^\S", text.split("amdhsa.kernels:", 1)[1], flags=re.M)[0]
    for block in re.split(r"^  - ", listed, flags=re.M)[1:]:
        field = dict(re.findall(r"^(?: {4})?(\.\w+): +'?([^'\n]*?)'?$", block, re.M))
        arguments = []
        for argument in re.split(r"^\s*- ", block.split(".group_segment_fixed_size")[0], flags=re.M):
            own = dict(re.findall(r"(\.\w+):\s*(\S+)", argument))
            if ".value_kind" in own:
                arguments.append(f"{own['.value_kind']}:{own['.offset']}:{own['.size']}")
        name = field[".symbol"].removesuffix(".kd")
        numbers = [field[key] for key in (".kernarg_segment_size", ".group_segment_fixed_size",
                                          ".private_segment_fixed_size")]
        kernels[name] = [f"{entries[name]:x}", *numbers, *arguments]
    return kernels


def main():
    options, objects = objdump_test.choose("list", "readelf")
    total, wrong = 0, []
    for library, architecture, data in objects:
        with tempfile.NamedTemporaryFile(suffix=".co") as file:
            file.write(data)
            file.flush()
            theirs = expected(options, file.name)
            lines = subprocess.run([options.list, file.name], capture_output=True, text=True, check=True).stdout
        ours = {}
        for line in lines.splitlines():
            found, name, *rest = line.split()
            ours[name] = rest
            if found != architecture:
                wrong.append(f"{name}: {found} is {architecture}")
        total += len(theirs)
        wrong += [f"{pathlib.Path(library).name} {architecture} {name}: {theirs.get(name)} | {ours.get(name)}"
                  for name in theirs.keys() | ours.keys() if theirs.get(name) != ours.get(name)]
    print("\n".join(wrong[:20]) or f"{total} kernels are the same")
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
