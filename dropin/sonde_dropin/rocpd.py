"""rocpd: databases of rocprofv3 in other formats, queried, summed up and merged."""

import csv
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

from . import rows, summary, tool
from .files import Files, demangled
from .rocpd_options import CONVERT, MERGE, QUERY, SUMMARY
from .rocprofv3 import place_export, write_csv
from .table import Usage, tell_differences

_FORMATS = {"csv": None, "pftrace": ("perfetto", ".pftrace"), "otf2": ("otf2", ".otf2")}
_CATEGORIES = {"HIP": "hip_api", "HSA": "hsa_api", "MARKERS": "marker_api", "RCCL": "rccl_api"}
_DOMAINS = ("hip", "hsa", "marker", "rccl", "kernel", "memory_copy")


def _words(parsed, key, known, otherwise=()):
    words = [word for text in parsed.get(key, otherwise) for word in text.split(",") if word]
    for word in words:
        if word not in known:
            raise Usage(f"--{key}: '{word}' is none of {', '.join(known)}")
    return words


def _inputs(parsed):
    found = []
    for path in parsed.get("input", []):
        inside = sorted(glob.glob(os.path.join(glob.escape(path), "*.db"))) if os.path.isdir(path) else [path]
        if not inside:
            raise tool.Failure(f"{path}: has no .db file")
        found += inside
    if not found:
        raise Usage("-i: needs FILE...")
    return [os.path.join(".", path) if path.startswith("-") else path
            for path in map(tool.existing, found)]


class Source:
    """The trace that the inputs are together, and the part that was asked for as options of sonde."""

    def __init__(self, parsed):
        self.parsed, self.paths = parsed, _inputs(parsed)
        self._folder = tempfile.TemporaryDirectory(prefix="sonde-")
        self.path = self.paths[0]

    def __enter__(self):
        if len(self.paths) > 1:
            self.path = os.path.join(self._folder.name, "merged.rpd")
            # Times as they are: as rocpd takes them.
            if not tool.sonde_quietly("merge", "--align", "none", "-o", self.path, *self.paths):
                self._folder.cleanup()
                raise tool.Failure(f"{' '.join(self.paths)}: not merged")
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def _ask(self, sql):
        done = subprocess.run([tool.sonde(), "query", self.path, sql, "--format", "csv"], check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise tool.Failure(done.stderr.strip().splitlines()[-1].replace("sonde: ", "", 1))
        values = list(csv.reader(done.stdout.splitlines()))[1:]
        return values[0][0] if values and values[0] else ""

    def _begin(self):
        text = self._ask("select min(s) from (select min(start_ns) s from v_api union all "
                         "select min(start_ns) from v_op)")
        return int(text) if text else 0

    def _moment(self, key, begin):
        text = self.parsed[key]
        if text.endswith("%") and text[:-1].replace(".", "", 1).isdigit():
            return text
        if not text.isdigit():
            raise Usage(f"--{key}: '{text}' is not a time: nanoseconds, or 25%")
        return f"{max(0, int(text) - begin())}ns"

    def _marker(self, key, what, begin):
        name = self.parsed[key].replace("'", "''")
        text = self._ask(f"select {what} from sonde_api where args = '{name}'")
        if not text:
            raise tool.Failure(f"--{key}: no range or mark is called '{self.parsed[key]}'")
        return f"{int(text) - begin()}ns"

    def window(self):
        options = []
        for key, option, what in (("start", "--from", "min(start_ns)"), ("end", "--to", "max(end_ns)")):
            if key in self.parsed and key + "-marker" in self.parsed:
                raise Usage(f"--{key} and --{key}-marker: only one of them")
            if key in self.parsed:
                options += [option, self._moment(key, self._begin)]
            elif key + "-marker" in self.parsed:
                options += [option, self._marker(key + "-marker", what, self._begin)]
        return options

    def database(self):
        """A database of rocprofv3 with what was asked for."""
        window = self.window()
        if not window and len(self.paths) == 1 and _is_database(self.path):
            return self.path
        made = os.path.join(self._folder.name, "part.db")
        if not tool.sonde_quietly("export", self.path, "--format", "rocpd", "-o", made, *window):
            raise tool.Failure(f"{self.path}: not written as a database")
        return made


def _is_database(path):
    try:
        with sqlite3.connect(tool.to_read(path), uri=True) as database:
            return bool(database.execute("select 1 from sqlite_master where name like 'rocpd_info_agent%'").fetchone())
    except sqlite3.Error:
        return False


def _prefix(parsed, name):
    folder = parsed.text("output-path", "rocpd-output-data")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, parsed.text("output-file", name))


def convert(parsed):
    formats = _words(parsed, "output-format", _FORMATS)
    if not formats:
        raise Usage("-f: needs FORMAT...: csv, pftrace, otf2")
    tell_differences(CONVERT, parsed)
    failed = 0
    with Source(parsed) as source:
        window = source.window()
        base = _prefix(parsed, "out")
        with Files(base) as files:
            for word in formats:
                if word == "csv":
                    if not files.export(source.path, "rocprofv3", "all", *window):
                        failed = 1
                        continue
                    write_csv(files, files.path("all"), (*_DOMAINS, "counters"), demangled)
                    continue
                form, end = _FORMATS[word]
                if files.export(source.path, form, "made" + end, *window):
                    place_export(files, "made" + end, base, end)
                else:
                    failed = 1
            files.tell(CONVERT.name, " ".join(source.paths))
    return failed


def _print(parsed, front, form, words, prefix=None):
    if "output-file" not in parsed and "output-path" not in parsed:
        sys.stdout.write(words)
        return
    with Files(prefix) as files:
        with open(files.path("made"), "w", encoding="utf-8") as file:
            file.write(words)
        files.place("made", rows.ENDINGS[form])
        files.tell(front.name, " ".join(parsed["input"]))


def query(parsed):
    if "query" not in parsed:
        raise Usage("--query: needs SQL")
    form = parsed.text("format", "console")
    if form not in rows.ENDINGS:
        raise Usage(f"--format: '{form}' is none of {', '.join(rows.ENDINGS)}")
    tell_differences(QUERY, parsed)
    with Source(parsed) as source, tempfile.TemporaryDirectory(prefix="sonde-") as folder:
        path = source.database()
        try:
            if "script" in parsed:
                path = shutil.copy(path, os.path.join(folder, "copy.db"))
                with open(parsed["script"], encoding="utf-8") as file, sqlite3.connect(path) as database:
                    database.executescript(file.read())
            with sqlite3.connect(tool.to_read(path), uri=True) as database:
                cursor = database.execute(parsed["query"])
                if cursor.description is None:
                    raise Usage("--query: it is no SELECT")
                words = rows.text(form, [column[0] for column in cursor.description], cursor)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise tool.Failure(f"{source.paths[0]}: {error}") from error
        prefix = _prefix(parsed, "query") if "output-file" in parsed or "output-path" in parsed else None
        _print(parsed, QUERY, form, words, prefix)


def _chosen(parsed):
    wanted = [word.upper() for text in parsed.get("region-categories", []) for word in text.split(",")]
    for word in wanted:
        if word not in (*_CATEGORIES, "NONE"):
            raise Usage(f"--region-categories: '{word}' is none of {', '.join(_CATEGORIES)}, NONE")
    if not wanted:
        return list(summary.DOMAINS)
    return [domain for domain in summary.DOMAINS
            if domain not in _CATEGORIES.values() or domain in (_CATEGORIES.get(word) for word in wanted)]


def summarize(parsed):
    formats = _words(parsed, "format", rows.ENDINGS, ["console"])
    domains = _chosen(parsed)
    tell_differences(SUMMARY, parsed)
    with Source(parsed) as source, tempfile.TemporaryDirectory(prefix="sonde-") as folder:
        made = os.path.join(folder, "all")
        if not tool.sonde_quietly("export", source.path, "--format", "rocprofv3", "-o", made, *source.window()):
            return 1
        found = summary.read(made, domains)
        if "kernel" in found:
            found["kernel"] = summary.joined(found["kernel"], demangled)
        prefix = _prefix(parsed, "summary") if "output-file" in parsed or "output-path" in parsed else None
        for form in formats:
            if form == "console":
                words = summary.text(found, parsed.on("domain-summary"), True, [], "nsec")
            else:
                words = rows.text(form, *summary.table(found, parsed.on("domain-summary")))
            _print(parsed, SUMMARY, form, words, prefix)
    return 0


def merge(parsed):
    with Source(parsed) as source:
        base = _prefix(parsed, "merged")
        base = base[:-3] if base.endswith(".db") else base
        with Files(base) as files:
            if not files.export(source.path, "rocpd", "made.db"):
                return 1
            files.place("made.db", ".db")
            files.tell(MERGE.name, " ".join(source.paths))
    return 0
