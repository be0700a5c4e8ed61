"""Hardware counters: what input files of rocprof ask for, and what a trace of sonde profile has of them."""

import csv
import re
import sqlite3
from collections import defaultdict, namedtuple

from . import tool
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
    chosen = [("counter", ",".join(wanted.names))]
    if wanted.kernels:
        chosen.append(("kernel", "|".join(literal_pattern(name) for name in wanted.kernels)))
    if wanted.ranges:
        chosen.append(("dispatch", ",".join(f"{first}:{last}" for first, last in wanted.ranges)))
    return chosen


def recorded(name):
    """The counter that is read for TCC_HIT_sum or TCC_HIT[3]."""
    name = name.partition("[")[0]
    return name[:-len("_sum")] if name.endswith("_sum") else name


def part(name):
    """3 of TCC_HIT[3]; None where all parts are wanted."""
    found = re.fullmatch(r".*\[(\d+)\]", name)
    return int(found[1]) if found else None


def _parts(trace, names):
    """{(GPU, begin, end): {counter: its value in each part of the GPU}}"""
    found = defaultdict(lambda: defaultdict(list))
    database = sqlite3.connect(trace)
    try:
        for gpu, begin, end, name, value in database.execute(
                'SELECT o.gpuId, o.start, o."end", s.string, c.value FROM sonde_op_counter c '
                "JOIN rocpd_op o ON o.id = c.op_id JOIN rocpd_string s ON s.id = c.name_id "
                "ORDER BY c.op_id, c.xcc, c.engine, c.instance"):
            if name in names:
                found[gpu, begin, end][name].append(value)
    except sqlite3.Error as error:
        raise tool.Failure(f"{trace}: {error}") from error
    finally:
        database.close()
    return found


class Columns:
    """The counters of a table of kernels as they were asked for, from its columns of sums and the trace."""

    def __init__(self, trace, wanted, heading):
        self._wanted = wanted
        self.names = [name for name in wanted.names if recorded(name) in heading]
        single = {recorded(name) for name in self.names if part(name) is not None}
        self._parts = _parts(trace, single) if single else {}

    def fill(self, row, gpu, begin, end):
        """Sets a row's columns; says whether the row is wanted."""
        if self._wanted.gpus and gpu not in self._wanted.gpus:
            return False
        if not any(row[recorded(name)] for name in self.names):
            return False
        for name in self.names:
            at = part(name)
            if at is None:
                row[name] = row[recorded(name)]
            else:
                values = self._parts.get((gpu, begin, end), {}).get(recorded(name), [])
                row[name] = str(values[at]) if at < len(values) else ""
        return True


def collection(source, target, trace, wanted, keep, named):
    """Rewrites rocprofv3's table of counters, a row for each of a kernel, for those that were asked for. `keep` chooses
    kernels by name and the number of the dispatch; `named` is how a name is written. Returns the number of rows."""
    rows = 0
    with open(source, newline="", encoding="utf-8") as read, \
            open(target, "w", newline="", encoding="utf-8", opener=private) as write:
        table = csv.DictReader(read)
        out = csv.DictWriter(write, table.fieldnames, quoting=csv.QUOTE_MINIMAL, lineterminator="\n")
        write.write(",".join(f'"{name}"' for name in table.fieldnames) + "\n")
        single = {recorded(name) for name in wanted.names if part(name) is not None}
        parts = _parts(trace, single) if single else {}
        asked = defaultdict(list)
        for name in wanted.names:
            asked[recorded(name)].append(name)
        for row in table:
            if not keep(row["Kernel_Name"], row["Dispatch_Id"]):
                continue
            values = parts.get((int(row["Agent_Id"].split()[-1]) - 1, int(row["Start_Timestamp"]),
                                int(row["End_Timestamp"])), {}).get(row["Counter_Name"], [])
            kernel = named(row["Kernel_Name"])
            for name in asked[row["Counter_Name"]]:
                at = part(name)
                if at is not None and at >= len(values):
                    continue
                value = row["Counter_Value"] if at is None else values[at]
                out.writerow({**row, "Kernel_Name": kernel, "Counter_Name": name, "Counter_Value": value})
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
