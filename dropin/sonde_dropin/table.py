"""The options of a front as a table, and what is made from it: the parser, --help and the page.

An option is the same as in the tool whose name the front has, near (what differs is said once, on
stderr), or refused (with what does it instead).
"""

import difflib
import re
import sys
import textwrap
from collections import namedtuple

SAME, NEAR, REFUSED = "same", "near", "refused"

_FIELDS = ("names", "value", "how", "text", "note", "sets")


class Option(namedtuple("Option", _FIELDS)):
    """names: "-o --output-file"; value: "" (none), "FILE", "FILE..." (one or more), "NAME,..." (one, and the option again for more), "DIR PREFIX" (one or
    two), "[BOOL]", "[PORT]", "[this|that]" or "[this|that]..." (may be left out); note: how it differs, or what to use instead; sets: what it turns on, for the front."""

    __slots__ = ()

    def __new__(cls, names, value, how, text, note="", sets=()):
        return super().__new__(cls, names, value, how, text, note, sets)

    @property
    def spellings(self):
        return self.names.split()

    @property
    def key(self):
        return max(self.spellings, key=len).lstrip("-")


_NOTES = {"differs": NEAR, "not done": REFUSED}


def _option_of(line):
    """An option from its row."""
    head, *parts = line.split("  ")
    names = re.match(r"(-\S+ ?)+", head)[0]
    option = {"names": names.strip(), "value": head[len(names):], "how": SAME, "text": ""}
    for part in parts:
        key, _, rest = part.partition(": ")
        if key in _NOTES:
            option.update(how=_NOTES[key], note=rest)
        elif key == "sets":
            option["sets"] = tuple(rest.split())
        else:
            option["text"] = part
    return Option(**option)


def options_of(text):
    """Options from rows "NAMES VALUE  TEXT  differs: NOTE" ("not done: NOTE", "sets: WORDS"), two spaces before each
    part. A row goes on in lines that are indented further, and what begins with such a word there is a part."""
    rows = []
    for line in textwrap.dedent(text).strip().splitlines():
        if line[0] != " ":
            rows.append(line)
        else:
            begins_part = re.match(r" +(differs|not done|sets): ", line)
            rows[-1] += ("  " if begins_part else " ") + line.strip()
    return [_option_of(row) for row in rows]


class Front(namedtuple("Front", "name usage summary groups program positionals", defaults=("", 0))):
    """groups: {"heading": [Option...]}. program: "" (it runs none), "word" (the first word that is no
    option begins it), "dashes" (it follows --), "either". positionals: how many there may be."""

    __slots__ = ()

    @property
    def options(self):
        return [option for group in self.groups.values() for option in group]

    def find(self, name):
        for option in self.options:
            if name in option.spellings:
                return option
        return None


class Usage(Exception):
    """A command line that cannot be done: one line, and the exit status is 2."""


class Parsed(dict):
    """Values by key: True, a text, or a list of them. `program` and `words` are what is left."""

    def __init__(self):
        super().__init__()
        self.program, self.words, self.order = [], [], []

    def text(self, key, otherwise=None):
        return self.get(key, otherwise)

    def on(self, key):
        return self.get(key, False) is True


HELP = Option("-h --help", "", SAME, "print this and end")
_TRUE = ("1", "true", "yes", "on", "y", "t")
_FALSE = ("0", "false", "no", "off", "n", "f")


def truth(option, text):
    if str(text).lower() in _TRUE:
        return True
    if str(text).lower() in _FALSE:
        return False
    raise Usage(f"{option}: '{text}' is neither true nor false")


def is_option(word):
    return len(word) > 1 and word[0] == "-" and not word[1:].replace(".", "", 1).isdigit()


def unknown(front, name):
    known = [spelling for option in front.options + [HELP] for spelling in option.spellings]
    near = difflib.get_close_matches(name, known, 1, 0.6)
    return Usage(f"{name}: no such option" + (f"; {near[0]} is one" if near else "") +
                 f" ({front.name} --help lists them)")


def _take(front, words, at, parsed):
    """The option at words[at] and its values; returns where the next word is."""
    name, equals, given = words[at].partition("=")
    option = front.find(name)
    if option is None:
        raise unknown(front, name)
    if option.how == REFUSED:
        raise Usage(f"{name}: {option.note}")
    at += 1
    values = [given] if equals else []
    kind = option.value
    repeats = kind.endswith(",...")
    most = sys.maxsize if kind.endswith("...") and not repeats else 1 + kind.count(" ")
    alternatives = kind.strip("[].").split("|") if "|" in kind and kind.startswith("[") else []
    wanted = 0 if not kind or equals else 1
    while kind and not equals and at < len(words) and not is_option(words[at]) and words[at] != "--":
        is_number = kind == "[PORT]" and words[at].isdigit()
        if kind.startswith("[") and words[at].lower() not in (*_TRUE, *_FALSE, *alternatives) and not is_number:
            break
        values.append(words[at])
        at += 1
        if len(values) == most:
            break
    if equals and not kind:
        raise Usage(f"{name}: takes no value")
    if wanted and not values and not kind.startswith("["):
        raise Usage(f"{name}: needs {kind.rstrip('.,')}")
    if not kind:
        parsed[option.key] = True
    elif kind.startswith("["):
        text = values[-1] if values else "on"
        is_text = text in alternatives or (kind == "[PORT]" and text.isdigit())
        parsed[option.key] = text if is_text else truth(name, text)
    elif most > 1 or repeats:
        parsed.setdefault(option.key, []).extend(values)
    else:
        parsed[option.key] = values[-1]
    parsed.order.append(option.key)
    return at


def _letters(front, word):
    """-bd is -b -d, where these take no value."""
    options = [front.find("-" + letter) for letter in word[1:]]
    if word.startswith("--") or front.find(word.partition("=")[0]) or len(options) < 2:
        return [word]
    if any(option is None or option.value not in ("", "[BOOL]") for option in options):
        return [word]
    return ["-" + letter for letter in word[1:]]


def parse(front, words):
    """The command line as Parsed; raises Usage."""
    parsed = Parsed()
    at = 0
    while at < len(words):
        word = words[at]
        if word in HELP.spellings:
            parsed["help"] = True
            return parsed
        if word == "--":
            if not front.program:
                parsed.words += words[at + 1:]
            else:
                parsed.program = words[at + 1:]
            break
        if is_option(word):
            words = words[:at] + _letters(front, word) + words[at + 1:]
            at = _take(front, words, at, parsed)
        elif front.program in ("word", "either"):
            parsed.program = words[at:]
            break
        else:
            parsed.words.append(word)
            at += 1
    if len(parsed.words) > front.positionals:
        what = parsed.words[front.positionals]
        if front.program == "dashes":
            raise Usage(f"{what}: a program to run stands after --")
        raise Usage(f"{what}: one word too many ({front.name} --help)")
    return parsed


def tell_differences(front, parsed):
    """What is near, once each."""
    for option in front.options:
        if option.how == NEAR and parsed.get(option.key) not in (None, False):
            print(f"{front.name}: {option.spellings[-1]}: {option.note}", file=sys.stderr)


def _heading(option):
    value = f" {option.value}" if option.value else ""
    return ", ".join(option.spellings) + value


def help_text(front):
    lines = [f"usage: {front.usage}", "", front.summary, ""]
    groups = dict(front.groups)
    groups.setdefault("General", [])
    for heading, options in groups.items():
        lines.append(f"{heading}:")
        for option in list(options) + ([HELP] if heading == "General" else []):
            lines.append("  " + _heading(option))
            lines.append("      " + option.text)
            if option.how == NEAR:
                lines.append("      differs: " + option.note)
            if option.how == REFUSED:
                lines.append("      not done: " + option.note)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def page(front):
    """The table of docs/drop-in.md."""
    def cell(text):
        return text.replace("|", "\\|")

    if not front.options:
        return ""
    lines = ["| option | | |", "|---|---|---|"]
    for option in front.options:
        words = " ".join(option.spellings) + (f" {option.value}" if option.value else "")
        text = option.text if option.how == SAME else option.note
        lines.append(f"| `{cell(words)}` | {option.how} | {cell(text)} |")
    return "\n".join(lines) + "\n"
