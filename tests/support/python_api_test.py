#!/usr/bin/python3
"""Compares what Python knows of the headers' structures with them: python_api_test.py SOURCE_FOLDER.

The members are read from the header, name by name, and each function that Python calls must have
as many arguments there as here. Python may know a beginning of a structure only.
"""

import ctypes
import importlib.util
import re
import sys
from pathlib import Path

# header, structure, Python file, its class
LAYOUTS = [
    ("include/sonde/sonde.h", "sonde_functions", "python/sonde/_agent.py", "Functions"),
    ("include/sonde/backend.h", "sonde_agent", "src/backends/torch/python/agent.py", "Agent"),
]


def members(header, structure):
    body = re.search(r"struct %s \{(.*?)\n\};" % structure, header, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    for statement in filter(None, (part.strip() for part in body.split(";"))):
        function = re.match(r"[\w\s*]+\(\*(\w+)\)\((.*)\)$", statement, re.S)
        if function:
            arguments = function.group(2).strip()
            yield function.group(1), 0 if arguments == "void" else arguments.count(",") + 1
        else:
            yield statement.split()[-1], None


def known_fields(path, name):
    spec = importlib.util.spec_from_file_location("layout", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)._fields_


def main(source):
    for header, structure, path, name in LAYOUTS:
        expected = list(members(Path(source, header).read_text(encoding="utf-8"), structure))
        known = known_fields(Path(source, path), name)
        if len(known) > len(expected):
            sys.exit(f"python_api_test: {structure} has {len(expected)} members, {path} {len(known)}")
        for (field, kind), (wanted, count) in zip(known, expected):
            if field != wanted:
                sys.exit(f"python_api_test: {field} where {structure} has {wanted}")
            if issubclass(kind, ctypes._CFuncPtr) and len(kind._argtypes_) != count:
                sys.exit(f"python_api_test: {field} takes {count} arguments in {structure}")
        print(f"{len(known)} members of struct {structure} agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
