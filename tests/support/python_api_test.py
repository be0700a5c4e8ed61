#!/usr/bin/python3
"""Compares python/sonde with the header: python_api_test.py BACKEND_H.

The members of struct sonde_agent are read from the header, name by name, and each that Python
calls must have as many arguments there as here. The package ends where the first version of the
struct ended.
"""

import ctypes
import re
import sys

from sonde import _agent


def members(header):
    body = re.search(r"struct sonde_agent \{(.*?)\n\};", header, re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    for statement in filter(None, (part.strip() for part in body.split(";"))):
        function = re.match(r"[\w\s*]+\(\*(\w+)\)\((.*)\)$", statement, re.S)
        if function:
            arguments = function.group(2).strip()
            yield function.group(1), 0 if arguments == "void" else arguments.count(",") + 1
        else:
            yield statement.split()[-1], None


def main(path):
    with open(path, encoding="utf-8") as file:
        expected = list(members(file.read()))
    known = _agent.Agent._fields_
    for (name, kind), (wanted, count) in zip(known, expected):
        if name != wanted:
            sys.exit(f"python_api_test: {name} where the header has {wanted}")
        if issubclass(kind, ctypes._CFuncPtr) and len(kind._argtypes_) != count:
            sys.exit(f"python_api_test: {name} takes {count} arguments in the header")
    print(f"{len(known)} members agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
