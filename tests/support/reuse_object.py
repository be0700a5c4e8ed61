#!/usr/bin/python3 -IS
"""A compiler launcher for optional_build.py: takes the object of another build where it would be the same.

reuse_object.py COMPILER ARGUMENT...: SONDE_REUSE names a file of that build's objects by source, with the
command that made each. Any other command is run.
"""

import json
import os
import shutil
import sys


def key(words, build):
    """What decides how the object comes out: all but the build folder's own name, where the object
    goes, headers that were precompiled, and the folder of hidden headers, none of which an object of
    the list has included."""
    kept = []
    words = iter(words)
    for word in words:
        if word in ("-o", "-MF", "-MT"):
            next(words)
        elif word.endswith("/cmake_pch.hxx"):
            kept.pop()  # -include
        elif word not in ("-MD", "-Winvalid-pch", f"-I{build}/hidden"):
            kept.append(word.replace(build, "BUILD"))
    return kept


def main():
    command = sys.argv[1:]
    known = {}
    if os.environ.get("SONDE_REUSE"):
        with open(os.environ["SONDE_REUSE"], encoding="utf-8") as file:
            known = json.load(file)
    for entry in known.get(command[-1], []):
        if key(command, os.getcwd()) == entry["key"]:
            made = command[command.index("-o") + 1]
            shutil.copyfile(entry["object"], made)
            if "-MF" in command:
                with open(command[command.index("-MF") + 1], "w", encoding="utf-8") as file:
                    # Made again with the other build's object, which knows its headers.
                    file.write(f"{made}: {command[-1]} {entry['object']}\n")
            return
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
