"""nsys stats and nsys export, of Nsight Systems' SQLite and of any trace that Sonde reads."""

import csv
import os
import statistics
import subprocess
import sys
import tempfile

from . import rows, tool
from .files import demangled
from .nsys_options import EXPORT, STATS
from .table import Usage, tell_differences

_UNITS = {name: (unit, scale) for unit, scale, names in (
    ("ns", 1, "ns nsec nanoseconds"), ("us", 1e3, "us usec microseconds"), ("ms", 1e6, "ms msec milliseconds"),
    ("s", 1e9, "s sec seconds")) for name in names.split()}
_FORMATS = {"column": (".txt", "console"), "table": (".txt", "console"), "csv": (".csv", "csv"),
            "tsv": (".tsv", "tsv"), "json": (".json", "json"), "htable": (".html", "html")}
_CALLS = "select name, duration_ns from sonde_api where "
_COPIES = {"CopyHostToDevice": "[CUDA memcpy Host-to-Device]", "CopyDeviceToHost": "[CUDA memcpy Device-to-Host]",
           "CopyDeviceToDevice": "[CUDA memcpy Device-to-Device]", "CopyHostToHost": "[CUDA memcpy Host-to-Host]",
           "FillBuffer": "[CUDA memset]"}
_IS_COPY = "(type like 'Copy%' or type = 'FillBuffer')"
_MEMORY = (f"select o.type, o.duration_ns, d.bytes from sonde_op o left join v_op_detail d on d.op_id = o.id where {_IS_COPY}")

# name: (title, what a row counts, what a row is, SQL with the name and the value)
_SUMS = {
    "nvtx_sum": ("NVTX Range Summary", "Instances", "Range",
                 "select args, duration_ns from sonde_api where name = 'UserMarker' and duration_ns > 0"),
    "osrt_sum": ("OS Runtime Summary", "Num Calls", "Name", _CALLS + "category = 'osrt'"),
    "cuda_api_sum": ("CUDA API Summary", "Num Calls", "Name",
                     _CALLS + "domain in ('cuda', 'hip') and category not in ('cudnn', 'cublas')"),
    "cuda_gpu_kern_sum": ("CUDA GPU Kernel Summary", "Instances", "Name",
                          "select name, duration_ns from sonde_op where is_kernel"),
    "cuda_gpu_mem_time_sum": ("CUDA GPU MemOps Summary (by Time)", "Count", "Operation", _MEMORY),
}
_SIZES = ("cuda_gpu_mem_size_sum", "CUDA GPU MemOps Summary (by Size)")
_TRACE = ("cuda_gpu_trace", "CUDA GPU Trace")
REPORTS = [*_SUMS, _SIZES[0], _TRACE[0]]
_OLDER = {"nvtxsum": "nvtx_sum", "osrtsum": "osrt_sum", "cudaapisum": "cuda_api_sum", "gpukernsum": "cuda_gpu_kern_sum",
          "gpumemtimesum": "cuda_gpu_mem_time_sum", "gpumemsizesum": "cuda_gpu_mem_size_sum",
          "gputrace": "cuda_gpu_trace"}


def real_nsys():
    """The next nsys of PATH that is not this one, or None."""
    own = os.path.realpath(os.path.join(tool.HERE, ".."))
    for folder in os.environ.get("PATH", "").split(":"):
        path = os.path.join(folder or ".", "nsys")
        if os.access(path, os.X_OK) and os.path.isfile(path) and \
                os.path.dirname(os.path.realpath(path)) != own:
            return path
    return None


def _is_asked(parsed, key):
    return parsed.text(key, "false").lower() in ("true", "yes", "1", "on")


def _make_way(parsed, path):
    if os.path.lexists(path) and not _is_asked(parsed, "force-overwrite"):
        raise tool.Failure(f"{path}: exists; --force-overwrite true replaces it")


def _database(parsed):
    """The file to read: a report's SQLite, exported by nsys where it is there."""
    if not parsed.words:
        raise Usage("no file (--help lists the options)")
    path = tool.existing(parsed.words[0])
    if not path.endswith((".nsys-rep", ".qdrep")):
        return os.path.join(".", path) if path.startswith("-") else path
    made = parsed.text("sqlite") or os.path.splitext(path)[0] + ".sqlite"
    if os.path.exists(made) and not _is_asked(parsed, "force-export"):
        return made
    nsys = real_nsys()
    if nsys is None:
        raise tool.Failure(f"{path}: only nsys reads this file; there, run nsys export --type sqlite and give "
                           f"the .sqlite")
    if subprocess.run([nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "-o", made, path], check=False,
                      stdout=subprocess.DEVNULL).returncode != 0:
        raise tool.Failure(f"{path}: not exported by {nsys}")
    return made


class _Trace:
    """Queries of one trace, which is read once."""

    def __init__(self, path):
        self._folder = tempfile.TemporaryDirectory(prefix="sonde-")
        self.path = os.path.join(self._folder.name, "trace.rpd")
        with open(path, "rb") as file:
            is_rpd = path.endswith((".rpd", ".rpd.gz")) and file.read(15) == b"SQLite format 3"
        if is_rpd:
            self.path = path
        elif not tool.sonde_quietly("import", path, "-o", self.path):
            self._folder.cleanup()
            raise tool.Failure(f"{path}: not read")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._folder.cleanup()

    def rows(self, sql):
        with subprocess.Popen([tool.sonde(), "query", self.path, sql, "--format", "csv"], stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True, encoding="utf-8") as process:
            reader = csv.reader(process.stdout)
            next(reader, None)
            yield from reader
        if process.returncode != 0:
            raise tool.Failure(f"{self.path}: not read")


def _figures(values, scale, digits):
    mean = sum(values) / len(values)
    deviation = statistics.stdev(values, mean) if len(values) > 1 else 0.0

    def shown(value):
        return value if scale == 1 and isinstance(value, int) else round(value / scale, digits)

    return [shown(sum(values)), len(values), shown(mean + 0.0), shown(statistics.median(values) + 0.0),
            shown(min(values)), shown(max(values)), shown(deviation)]


def _grouped(found):
    groups = {}
    for name, value, *_ in found:
        groups.setdefault(name, []).append(int(value))
    return groups


def _sum(trace, name, unit, scale):
    _, count, what, sql = _SUMS[name]
    groups = _grouped(trace.rows(sql))
    whole = sum(sum(values) for values in groups.values())
    table = []
    for key, values in sorted(groups.items(), key=lambda one: (-sum(one[1]), one[0])):
        share = round(100 * sum(values) / whole, 1) if whole else 0.0
        table.append([share, *_figures(values, scale, 1 if scale == 1 else 3), _COPIES.get(key) or demangled(key)])
    heads = ["Time (%)", f"Total Time ({unit})", count, *(f"{word} ({unit})" for word in ("Avg", "Med", "Min", "Max",
                                                                                        "StdDev")), what]
    return heads, table


def _sizes(trace):
    groups = _grouped((kind, size) for kind, _, size in trace.rows(_MEMORY) if size)
    table = [[*_figures(values, 1e6, 3), _COPIES.get(key, key)]
             for key, values in sorted(groups.items(), key=lambda one: (-sum(one[1]), one[0]))]
    return ["Total (MB)", "Count", "Avg (MB)", "Med (MB)", "Min (MB)", "Max (MB)", "StdDev (MB)", "Operation"], table


def _each(trace, unit, scale):
    """The GPU's work in its order; grids in blocks, as CUDA counts them."""
    def number(text):
        return int(text) if text else None

    table = []
    for row in trace.rows("select o.start_ns, o.duration_ns, d.grid_x, d.grid_y, d.grid_z, d.group_x, d.group_y, d.group_z, "
                          "d.bytes, o.gpu_id, o.queue_id, o.name, o.type from sonde_op o left join v_op_detail d "
                          f"on d.op_id = o.id where o.is_kernel or {_IS_COPY} order by o.start_ns, o.id"):
        start, length, *numbers = (number(text) for text in row[:11])
        grid, block, (size, gpu, queue) = numbers[:3], numbers[3:6], numbers[6:]
        blocks = [whole // part if whole and part else None for whole, part in zip(grid, block)]
        rate = round(size * 1e3 / length, 3) if size and length else None
        times = [start, length] if scale == 1 else [round(start / scale, 3), round(length / scale, 3)]
        table.append([*times, *blocks, *block, None if size is None else round(size / 1e6, 3), rate, gpu, queue,
                      _COPIES.get(row[12]) or demangled(row[11])])
    return [f"Start ({unit})", f"Duration ({unit})", "GrdX", "GrdY", "GrdZ", "BlkX", "BlkY", "BlkZ", "Bytes (MB)",
            "Throughput (MB/s)", "Device", "Strm", "Name"], table


def _title(name):
    return _SUMS[name][0] if name in _SUMS else dict((_SIZES, _TRACE))[name]


def _report(trace, name, unit, scale):
    if name == _SIZES[0]:
        return _sizes(trace)
    return _each(trace, unit, scale) if name == _TRACE[0] else _sum(trace, name, unit, scale)


def _chosen(parsed):
    words = [word for text in parsed.get("report", []) for word in text.split(",") if word]
    words = [_OLDER.get(word.partition(":")[0], word.partition(":")[0]) for word in words]
    for word in words:
        if word not in REPORTS:
            raise Usage(f"--report: '{word}' is none of {', '.join(REPORTS)}")
    return words or REPORTS[:-1]


def _each_of(parsed, key, otherwise, count):
    """nsys takes one value for all reports, or one for each; the last counts for the rest."""
    words = [word for text in parsed.get(key, [otherwise]) for word in text.split(",") if word] or [otherwise]
    return words[:count] + [words[-1]] * (count - len(words))


def _put(parsed, name, form, where, words):
    ending = _FORMATS[form][0]
    if where == "-":
        if form in ("column", "table", "htable"):
            words = f" ** {_title(name)} ({name}):\n\n{words}\n"
        sys.stdout.write(words)
        return
    base = os.path.splitext(parsed.words[0])[0] if where == "." else where
    path = f"{base}_{name}{ending}"
    _make_way(parsed, path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(words)
    if not parsed.on("quiet"):
        print(f"{STATS.name}: {path}", file=sys.stderr)


def stats(parsed):
    if parsed.on("help-reports") or parsed.on("help-formats"):
        listed = [f"{name}: {_title(name)}" for name in REPORTS] if parsed.on("help-reports") else _FORMATS
        print("\n".join(listed))
        return
    names = _chosen(parsed)
    formats = _each_of(parsed, "format", "column", len(names))
    places = _each_of(parsed, "output", "-", len(names))
    for word in formats:
        if word not in _FORMATS:
            raise Usage(f"--format: '{word}' is none of {', '.join(_FORMATS)}")
    if any(place.startswith("@") for place in places):
        raise Usage("--output: @COMMAND: write a pipe after -o -")
    if parsed.text("timeunit", "ns") not in _UNITS:
        raise Usage(f"--timeunit: '{parsed['timeunit']}' is none of {', '.join(_UNITS)}")
    unit, scale = _UNITS[parsed.text("timeunit", "ns")]
    path = _database(parsed)
    tell_differences(STATS, parsed)
    with _Trace(path) as trace:
        for name, form, place in zip(names, formats, places):
            columns, table = _report(trace, name, unit, scale)
            if not table and "report" not in parsed:
                if not parsed.on("quiet"):
                    print(f"{STATS.name}: {name}: nothing of this in {path}", file=sys.stderr)
                continue
            _put(parsed, name, form, place, rows.text(_FORMATS[form][1], columns, table))


def export(parsed):
    kind = parsed.text("type", "sqlite")
    if kind not in ("sqlite", "json"):
        raise Usage(f"--type: '{kind}' is neither sqlite nor json; sonde export has other forms")
    path = _database(parsed)
    tell_differences(EXPORT, parsed)
    base = os.path.splitext(path)[0]
    target = parsed.text("output", base + (".json" if kind == "json" else ".rpd"))
    if os.path.exists(target) and os.path.samefile(target, path):
        raise tool.Failure(f"{target}: is the file that is read; -o names the new one")
    _make_way(parsed, target)
    folder = os.path.dirname(os.path.abspath(target))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".sonde-") as place:
        made = os.path.join(place, "made")
        command = ["import", path, "-o", made] if kind == "sqlite" else ["export", path, "--format", "chrome", "-o", made]
        if not tool.sonde_quietly(*command):
            return 1
        os.replace(made, target)
    if parsed.text("quiet", "false").lower() in ("false", "no", "0", "off"):
        print(f"{EXPORT.name}: {target}", file=sys.stderr)
    return 0
