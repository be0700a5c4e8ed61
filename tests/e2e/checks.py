"""The expectations of a case: each function returns None or a sentence that says what is wrong."""

import json
import os
import re
import signal
import sqlite3

from spec import substitute


def exit_status(wanted, returncode):
    actual = f"{signal.Signals(-returncode).name}" if returncode < 0 else returncode
    accepted = wanted if isinstance(wanted, list) else [wanted]
    for status in accepted:
        if status in ("any", actual) or (status == "nonzero" and actual != 0):
            return None
    return f"exit {actual}, expected {wanted}"


def text_has(pattern, text, stream, variables):
    return None if _find(pattern, text, variables) else f"{stream} lacks: {pattern}"


def text_lacks(pattern, text, stream, variables):
    return f"{stream} has: {pattern}" if _find(pattern, text, variables) else None


def _find(pattern, text, variables):
    """'re:...' is a regular expression (multi-line); anything else must be contained as it is."""
    if pattern.startswith("re:"):
        # Braces are counts in a regular expression, so only {json.*} is replaced there.
        expression = re.sub(
            r"\{json\.[A-Za-z0-9_.-]+\}",
            lambda m: re.escape(substitute(m.group(0), variables)), pattern[3:]
        )
        return re.search(expression, text, re.MULTILINE)
    return substitute(pattern, variables) in text


def file_state(entry, variables):
    """'name': a folder or a file with content; '!name': nothing of that name."""
    name = substitute(entry.removeprefix("!"), variables)
    if entry.startswith("!"):
        return f"file exists: {name}" if os.path.lexists(name) else None
    if os.path.isdir(name) or (os.path.isfile(name) and os.path.getsize(name) > 0):
        return None
    return f"file is missing or empty: {name}"


def sql(check, variables):
    """Rows are compared as text: columns joined by '|', NULL as ''."""
    path = substitute(check["file"], variables)
    query = substitute(check["sql"], variables)
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        # Back to Python now and then, so that a signal is heeded during a query, too.
        connection.set_progress_handler(lambda: 0, 100_000)
        try:
            rows = ["|".join(_cell(c) for c in row) for row in connection.execute(query)]
        finally:
            connection.close()
    except sqlite3.Error as error:
        return f"{query}: {error} ({path})"
    actual = rows if isinstance(check.get("is"), list) else "\n".join(rows)
    return _compare(check, actual, query, variables)


def json_value(check, stdout, variables):
    """`path` walks objects by key and arrays by index: "rows.0.name"."""
    try:
        if "file" in check:
            with open(substitute(check["file"], variables), "rb") as file:
                value = json.load(file)
        else:
            value = json.loads(stdout)
    except (OSError, ValueError) as error:
        return f"JSON: {error}"
    for part in filter(None, check.get("path", "").split(".")):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return f"JSON has no '{check['path']}'"
    if "length" in check:
        length = len(value) if hasattr(value, "__len__") else None
        return None if length == check["length"] else f"length {length}, expected {check['length']}"
    return _compare(check, value, f"JSON '{check.get('path', '')}'", variables)


def _compare(check, actual, what, variables):
    if "is" in check:
        wanted = check["is"]
        if isinstance(wanted, str):
            wanted = substitute(wanted, variables)
        elif isinstance(wanted, list):
            wanted = [substitute(str(w), variables) for w in wanted]
            actual = [_cell(a) for a in actual] if isinstance(actual, list) else actual
        if actual != wanted and _cell(actual) != _cell(wanted):
            return f"{what} gives {actual!r}, expected {wanted!r}"
    if "matches" in check and not re.search(check["matches"], _cell(actual), re.MULTILINE):
        return f"{what} gives {actual!r}, which does not match {check['matches']}"
    return _compare_number(check, actual, what, variables)


def _compare_number(check, actual, what, variables):
    if not {"at-least", "at-most", "near"} & set(check):
        return None
    try:
        number = float(_cell(actual))
    except ValueError:
        return f"{what} gives {actual!r}, expected a number"
    if "at-least" in check and number < _number(check["at-least"], variables):
        return f"{what} gives {actual}, expected at least {check['at-least']}"
    if "at-most" in check and number > _number(check["at-most"], variables):
        return f"{what} gives {actual}, expected at most {check['at-most']}"
    if "near" in check:
        wanted, tolerance = (_number(n, variables) for n in check["near"])
        if abs(number - wanted) > tolerance:
            return f"{what} gives {actual}, expected {wanted} +- {tolerance}"
    return None


def _number(value, variables):
    return float(substitute(value, variables)) if isinstance(value, str) else float(value)


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
