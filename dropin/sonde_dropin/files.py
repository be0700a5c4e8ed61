"""The files that a front leaves: exports of a trace, renamed as the old tool names them."""

import csv
import ctypes
import functools
import os
import re
import sys
import tempfile

from . import tool


def private(path, flags):
    """For open(): only the owner reads what a program did, as of all files of Sonde."""
    return os.open(path, flags, 0o600)


class Files:
    """Files with a common prefix (folder/name). They appear complete or not at all; older ones of the
    same names are replaced, as the old tools do, and counted."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.made, self.replaced = [], 0
        self._folder = tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(prefix)),
                                                   prefix=".sonde-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def path(self, name):
        """Where a file can be written before it is placed."""
        return os.path.join(self._folder.name, name)

    def place(self, name, end):
        """The written file `name` becomes PREFIX + end."""
        target = self.prefix + end
        self.replaced += os.path.lexists(target)
        os.replace(self.path(name), target)
        self.made.append(end)

    def export(self, trace, form, name, *options):
        return tool.sonde_quietly("export", trace, "--format", form, "-o", self.path(name), *options)

    def tell(self, front, trace):
        """The last line: what was made."""
        text = f"{front}: {trace}"
        if self.made:
            text += "; " + ", ".join(self.prefix + end for end in self.made)
        if self.replaced:
            text += f"; {self.replaced} of them replaced older ones"
        print(text, file=sys.stderr)


@functools.lru_cache(maxsize=None)
def demangled(name):
    """What the C++ library says; the name itself where there is none."""
    if not name.startswith("_Z"):
        return name
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        function = library.__cxa_demangle
        function.restype = ctypes.c_void_p
        function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
                             ctypes.POINTER(ctypes.c_int)]
        status = ctypes.c_int()
        plain = name[:-3] if name.endswith(".kd") else name
        text = function(plain.encode(), None, None, ctypes.byref(status))
        if not text:
            return name
        result = ctypes.string_at(text).decode("utf-8", "replace")
        ctypes.CDLL(None).free(ctypes.c_void_p(text))
        return result
    except (OSError, AttributeError):
        return name


def base_name(name):
    """The name of a function alone: without arguments, template arguments, scopes, return type."""
    text = demangled(name).replace("(anonymous namespace)", "")
    flat = re.sub(r"\boperator\s*(<=>|<<=?|>>=?|<=?|>=?|->\*?|\(\))", "operator", text)
    plain, depth = "", 0
    for letter in flat:
        if letter == "(" and depth == 0 and plain.strip():
            break
        depth += letter in "<([" 
        if depth == 0:
            plain += letter
        depth -= letter in ">)]" and depth > 0
    words = plain.strip().split(" ")
    return words[-1].rpartition("::")[2] or name


def rewrite(source, target, change, quote=csv.QUOTE_NONNUMERIC):
    """Copies a CSV file; `change` gets each row as a dict, may alter it, and says whether it stays.
    Returns the number of rows."""
    rows = 0
    with open(source, newline="", encoding="utf-8") as read, \
            open(target, "w", newline="", encoding="utf-8", opener=private) as write:
        table = csv.DictReader(read)
        heading = change(None, list(table.fieldnames or []))
        out = csv.DictWriter(write, heading, quoting=quote, lineterminator="\n",
                             extrasaction="ignore")
        out.writeheader()
        for row in table:
            if change(row, heading):
                out.writerow({name: _number(row[name]) for name in heading})
                rows += 1
    return rows


class Number(float):
    """Written as it was read, without quotes."""

    def __new__(cls, text):
        one = super().__new__(cls, text)
        one.text = text
        return one

    def __str__(self):
        return self.text

    __repr__ = __str__


def _number(text):
    return Number(text) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text
