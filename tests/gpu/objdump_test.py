#!/usr/bin/python3
"""Compares Sonde's disassembly with that of llvm-objdump, instruction for instruction.

    objdump_test.py --disassemble PROGRAM [--objdump llvm-objdump-15] [--library FILE...] [--most N]

Takes the code objects for gfx906, gfx908 and gfx90a in the libraries' offload bundles: those given, else
librocrand1 and librocsparse0 of Debian where they are installed. Exit 77 if there is nothing to compare."""
import argparse
import collections
import glob
import itertools
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
INSTALLED = ("/usr/lib/x86_64-linux-gnu/librocrand.so.1", "/usr/lib/x86_64-linux-gnu/librocsparse.so.0")
LINE = re.compile(r"\t(.*?)\s*// [0-9A-F]+: ([0-9A-F ]+?)(?: <.*>)?\s*$")
SKIPPED = 77


def code_objects(path):
    """(architecture, bytes) of each entry of each offload bundle in a file."""
    data = pathlib.Path(path).read_bytes()
    at = data.find(MAGIC)
    while at >= 0:
        count, = struct.unpack_from("<Q", data, at + len(MAGIC))
        place = at + len(MAGIC) + 8
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, place)
            target = data[place + 24:place + 24 + length].decode()
            place += 24 + length
            found = re.search(r"gfx90[68a](?![0-9a-f])", target)
            if found and size:
                yield found[0], data[at + offset:at + offset + size]
        at = data.find(MAGIC, at + len(MAGIC))


def differences(options, architecture, data):
    """How many instructions there are, and which are not the same: by mnemonic (theirs, ours, words)."""
    with tempfile.NamedTemporaryFile(suffix=".co") as file:
        file.write(data)
        file.flush()
        listed = subprocess.run([options.objdump, "-d", file.name], capture_output=True, text=True, check=True)
    found = [LINE.match(line) for line in listed.stdout.splitlines()]
    found = [(re.sub(r"\s+", " ", one[1]).strip(), one[2]) for one in found if one]
    made = subprocess.run([options.disassemble, architecture], input="\n".join(words for _, words in found) + "\n",
                          capture_output=True, text=True, check=True).stdout.splitlines()
    wrong = collections.defaultdict(list)
    for (theirs, words), ours in zip(found, made, strict=True):
        if theirs != ours:
            wrong[theirs.split(" ")[0]].append((theirs, ours, words))
    return len(found), wrong


def choose(ours, theirs):
    """The options, and of what is to be compared (library, architecture, bytes); exits where there is
    nothing. `ours` and `theirs` are the programs."""
    parser = argparse.ArgumentParser()
    parser.add_argument(f"--{ours}", required=True)
    parser.add_argument(f"--{theirs}", default=f"llvm-{theirs}-15")
    parser.add_argument("--most", type=int, default=6, help="code objects of a library")
    parser.add_argument("--library", nargs="*")
    options = parser.parse_args()
    peer = getattr(options, theirs)
    libraries = options.library or [path for name in INSTALLED for path in glob.glob(name)]
    if not shutil.which(peer) or not libraries:
        print("nothing to compare with:", peer, "or libraries with code objects are missing")
        sys.exit(SKIPPED)
    # One after the other: together they are too large to keep.
    return options, ((path, *each) for path in libraries
                     for each in itertools.islice(code_objects(path), options.most))


def main():
    options, objects = choose("disassemble", "objdump")
    total, wrong = 0, []
    for path, architecture, data in objects:
        count, bad = differences(options, architecture, data)
        total += count
        wrong += [f"{pathlib.Path(path).name} {architecture}: {len(rows)} x {' | '.join(rows[0])}"
                  for rows in bad.values()]
    print("\n".join(wrong) or f"{total} instructions are the same")
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
