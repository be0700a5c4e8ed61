"""Hardware counters: what input files of rocprof ask for, and what a trace of sonde profile has of them."""

import csv
import itertools
import re
import sqlite3
from collections import defaultdict, namedtuple

from . import derived, tool
from .files import private
from .table import Usage

LAST = 2**62  # as good as no end

# names: counters in the order they were given in, each once; kernels: parts of names (of
# rocprofv3 an expression); ranges: (first, last) of dispatches,
# both included; gpus: their numbers. Empty lists choose all.
Wanted = namedtuple("Wanted", "names kernels ranges gpus")


def _words(text):
    return text.replace(",", " ").split()


def _span(path, text):
    """3, 1:4, 3: and :3, whose end is not included."""
    found = re.fullmatch(r"(\d*)(:?)(\d*)", text.strip())
    if not found or not (found[1] or found[3]):
        raise Usage(f"{path}: range: '{text.strip()}' is not a range; 1:4, 3:, :3 and 3 are")
    first = int(found[1] or 0)
    last = (int(found[3]) - 1 if found[3] else LAST) if found[2] else first
    if last < first:
        raise Usage(f"{path}: range: '{text.strip()}' has no dispatch")
    return first, last


def _lines(text):
    """(key, value) of each line of an input file."""
    for line in text.splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        if colon:
            yield key.strip(), value


def _elements(path, text):
    """The same of an XML file, whose values may stand without quotes."""
    plain = re.sub(r"(?m)^\s*#.*$", "", re.sub(r"(?s)<!--.*?-->", "", text))
    for inside in re.findall(r"<metric\b((?:\"[^\"]*\"|'[^']*'|[^>\"'])*)>", plain):
        given = {key: value.strip("\"'") for key, value in re.findall(r"(\w+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s>]+)", inside)}
        for key in ("expr", "block", "event"):
            if key in given:
                raise Usage(f"{path}: {key}: Sonde has no counters of one's own; sonde avail --category counters "
                            "lists those there are")
        for key, names in (("pmc", "name"), ("kernel", "kernel"), ("range", "range"), ("gpu", "gpu_index")):
            if names in given:
                yield key, given[names].rstrip("/")


def read_input(path):
    """What an input file of rocprof wants counted, or None where it names no counters."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError as error:
        raise tool.Failure(f"{path}: {error.strerror}") from error
    names, last = [], {}
    is_xml = re.match(r"\s*(#[^\n]*\n\s*)*<", text) is not None
    for key, value in _elements(path, text) if is_xml else _lines(text):
        if key == "pmc":
            names += [name for name in _words(value) if name not in names]
        last[key] = value
    if not names:
        return None
    gpus = _words(last.get("gpu", ""))
    if not all(gpu.isdigit() for gpu in gpus):
        raise Usage(f"{path}: gpu: '{last['gpu'].strip()}' is no list of numbers")
    spans = [_span(path, last["range"])] if last.get("range", "").strip() else []
    return Wanted(list(dict.fromkeys(names)), _words(last.get("kernel", "")), spans, [int(gpu) for gpu in gpus])


def literal_pattern(text):
    """A regular expression of POSIX that is this text."""
    return re.sub(r"([][\\.^$*+?(){}|])", r"\\\1", text)


def options(wanted):
    """For sonde profile."""
    counted = [one for name in wanted.names
               for one in (map(recorded, derived.counters(name)) if name in derived.METRICS else [re.sub("_(max|avr)$", "", name)])]
    chosen = [("counter", ",".join(dict.fromkeys(counted)))]
    if wanted.kernels:
        chosen.append(("kernel", "|".join(literal_pattern(name) for name in wanted.kernels)))
    if wanted.ranges:
        chosen.append(("dispatch", ",".join(f"{first}:{last}" for first, last in wanted.ranges)))
    return chosen


def recorded(name):
    """The counter that is read for TCC_HIT_sum, TCC_HIT_max or TCC_HIT[3]."""
    return re.sub(r"_(sum|max|avr)$", "", name.partition("[")[0])


def is_over_parts(name):
    """Whether the values of single parts of the GPU are needed for it."""
    return part(name) is not None or name.endswith(("_max", "_avr"))


def part(name):
    """3 of TCC_HIT[3]; None where all parts are wanted."""
    found = re.fullmatch(r".*\[(\d+)\]", name)
    return int(found[1]) if found else None


class _Parts:
    """Of kernels, by GPU, begin and end: a counter's value in each part of the GPU, the shader engines added up, as
    rocprof reads it."""

    def __init__(self, trace, names):
        self._found = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
        self._facts = {}
        database = sqlite3.connect(trace)
        try:
            for gpu, begin, end, name, xcc, instance, value in database.execute(
                    'SELECT o.gpuId, o.start, o."end", s.string, c.xcc, c.instance, c.value FROM sonde_op_counter c '
                    "JOIN rocpd_op o ON o.id = c.op_id JOIN rocpd_string s ON s.id = c.name_id"):
                if name in names:
                    self._found[gpu, begin, end][name][xcc, instance] += value
            for gpu, name, units in database.execute("SELECT gpu_id, name, compute_units FROM sonde_device"):
                architecture = re.search(r"gfx[0-9a-f]+", name or "")
                self._facts[gpu] = derived.facts(architecture and architecture[0], units or 0)
        except sqlite3.Error as error:
            raise tool.Failure(f"{trace}: {error}") from error
        finally:
            database.close()

    def of(self, kernel, counter):
        parts = self._found.get(kernel, {}).get(counter, {})
        return [parts[place] for place in sorted(parts)]

    def value(self, kernel, name):
        """What was asked for under a name, from the parts alone."""
        if name in derived.METRICS:
            values = {one: self._number(kernel, one) for one in derived.counters(name)}
            return derived.value(name, {**values, **self._facts.get(kernel[0], derived.facts(None, 0))})
        number = self._number(kernel, name)
        return "" if number is None else str(number)

    def _number(self, kernel, name):
        values = self.of(kernel, recorded(name))
        if part(name) is not None:
            return values[part(name)] if part(name) < len(values) else None
        if not values:
            return None
        if name.endswith("_max"):
            return max(values)
        return sum(values) / len(values) if name.endswith("_avr") else sum(values)


def _needed(names):
    """Counters whose parts are looked at for these names."""
    return {recorded(one) for name in names for one in
            (derived.counters(name) if name in derived.METRICS else [name] if is_over_parts(name) else [])}


def _is_there(name, counted):
    if name in derived.METRICS:
        return all(recorded(one) in counted for one in derived.counters(name))
    return recorded(name) in counted


class Columns:
    """The counters of a table of kernels as they were asked for, from its columns of sums and the trace."""

    def __init__(self, trace, wanted, heading):
        self._wanted = wanted
        self.names = [name for name in wanted.names if _is_there(name, heading)]
        single = _needed(self.names)
        self._parts = _Parts(trace, single) if single else None

    def fill(self, row, gpu, begin, end):
        """Sets a row's columns; says whether the row is wanted."""
        if self._wanted.gpus and gpu not in self._wanted.gpus:
            return False
        values = {name: self._parts.value((gpu, begin, end), name)
                  if name in derived.METRICS or is_over_parts(name) else row[recorded(name)] for name in self.names}
        row.update(values)
        return any(values.values())


def collection(source, target, trace, wanted, keep, named):
    """Rewrites rocprofv3's table of counters, a row for each of a kernel, for those that were asked for. `keep` chooses
    kernels by name and the number of the dispatch; `named` is how a name is written. Returns the number of rows."""
    rows = 0
    single = _needed(wanted.names)
    parts = _Parts(trace, single) if single else None
    with open(source, newline="", encoding="utf-8") as read, \
            open(target, "w", newline="", encoding="utf-8", opener=private) as write:
        table = csv.DictReader(read)
        out = csv.DictWriter(write, table.fieldnames, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
        write.write(",".join(f'"{name}"' for name in table.fieldnames) + "\n")
        for _, group in itertools.groupby(table, lambda row: row["Dispatch_Id"]):
            counted = {row["Counter_Name"]: row for row in group}
            first = next(iter(counted.values()))
            if not keep(first["Kernel_Name"], first["Dispatch_Id"]):
                continue
            kernel = (int(first["Agent_Id"].split()[-1]) - 1, int(first["Start_Timestamp"]), int(first["End_Timestamp"]))
            for name in wanted.names:
                if not _is_there(name, counted):
                    continue
                from_parts = name in derived.METRICS or is_over_parts(name)
                value = parts.value(kernel, name) if from_parts else counted[recorded(name)]["Counter_Value"]
                if value:
                    out.writerow({**first, "Kernel_Name": named(first["Kernel_Name"]), "Counter_Name": name,
                                  "Counter_Value": value})
                    rows += 1
    return rows


class Iterations:
    """--kernel-iteration-range: which dispatches of each kernel, from 1 on."""

    def __init__(self, texts):
        self._spans, self._seen, self._count = [], {}, defaultdict(int)
        for word in re.findall(r"[^\s,\[\]]+", " ".join(texts)):
            found = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
            if not found:
                raise Usage(f"--kernel-iteration-range: '{word}' is not a range; [1-3] and [5] are")
            self._spans.append((int(found[1]), int(found[2] or found[1])))

    def __call__(self, kernel, dispatch):
        if dispatch not in self._seen:
            self._count[kernel] += 1
            self._seen[dispatch] = self._count[kernel]
        number = self._seen[dispatch]
        return not self._spans or any(first <= number <= last for first, last in self._spans)
