"""rocprof-compute analyze and omniperf analyze: sonde sol on the folders that profile wrote."""

import contextlib
import csv
import http.server
import json
import os
import re
import sqlite3
import subprocess

from . import compute_options, counters, tool
from .table import Usage, tell_differences

_UNITS = ("per_kernel", "per_wave", "per_cycle", "per_second")


def _made(command, form):
    done = subprocess.run([tool.sonde(), *command, "--format", form], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise SystemExit(done.returncode)  # it has said why
    return done.stdout


def _report(command):
    return json.loads(_made(command, "json"))


def _tables(command):
    return {key: rows for key, rows in _report(command).items()
            if isinstance(rows, list) and rows and isinstance(rows[0], dict)}


def _whole(option, text):
    if not re.fullmatch(r"\d+", text):
        raise Usage(f"{option}: '{text}' is not a number")
    return int(text)


def _dispatches(texts):
    ranges = []
    for text in " ".join(texts).replace("> ", ">").split():
        after = re.fullmatch(r">(\d+)", text)
        if after:
            text = f"{int(after[1]) + 1}:{counters.LAST}"
        elif not re.fullmatch(r"\d+(:\d+)?", text):
            raise Usage(f"--dispatch: '{text}' is not a dispatch; 0, 4:7 and \"> 3\" are")
        ranges.append(text)
    return ["--dispatch", ",".join(ranges)]


def _panels(texts):
    tables = []
    for text in texts:
        if not re.fullmatch(r"\d{1,2}(\.\d{1,2}){0,2}", text):
            raise Usage(f"--block: '{text}' is not a panel, table or metric; 2, 7.2 and 7.2.0 are")
        table = ".".join(text.split(".")[:2])
        if table not in tables:
            tables.append(table)
    return [word for table in tables for word in ("--panel", table)]


def _kernels(path, texts):
    numbers = [_whole("--kernel", text) for text in texts]
    names = [row["name"] for row in _report(["sol", path])["kernels"]]
    chosen = []
    for number in numbers:
        if number >= len(names):
            raise Usage(f"--kernel: {number}: {path} has {len(names)} kernels, from 0 on")
        chosen.append("^" + counters.literal_pattern(names[number]) + "$")
    return ["--kernel", "|".join(chosen)]


def _sol(parsed):
    """The command line of sonde that shows what is asked for."""
    paths = parsed.get("path", [])
    if not paths:
        raise Usage("-p: needs DIR...")
    for path in paths:
        if not os.path.isdir(path):
            raise tool.Failure(f"{path}: no such folder")
    unit = parsed.text("normal-unit", "per_kernel")
    if unit not in _UNITS:
        raise Usage(f"--normal-unit: '{unit}' is none of {', '.join(_UNITS)}")
    command = ["sol", *paths, "--per", unit[len("per_"):]]
    if "block" in parsed:
        command += _panels(parsed["block"])
    elif not parsed.on("list-stats"):
        command.append("--all")
    if "dispatch" in parsed:
        command += _dispatches(parsed["dispatch"])
    if "gpu-id" in parsed:
        command += ["--gpu", str(_whole("--gpu-id", parsed["gpu-id"]))]
    if "kernel" in parsed:
        command += _kernels(paths[0], parsed["kernel"])
    return command


def _rounded(value, decimals):
    return round(value, decimals) if isinstance(value, float) else value


def _save(folder, command, decimals):
    """Each table of the answer as a CSV file."""
    tables = _tables(command)
    try:
        os.mkdir(folder)
    except FileExistsError as error:
        raise tool.Failure(f"{folder}: already exists; give a new folder") from error
    for key, rows in tables.items():
        with open(os.path.join(folder, key + ".csv"), "x", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows({name: _rounded(value, decimals) for name, value in row.items()} for row in rows)
    print(f"{folder}: {len(tables)} tables")


def _into(path):
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError as error:
        raise tool.Failure(f"{path}: already exists; give a new file") from error
    os.dup2(file, 1)


def _specs(path):
    """What sysinfo.csv says, one fact a line."""
    try:
        with open(os.path.join(path, "sysinfo.csv"), newline="", encoding="utf-8") as file:
            facts = next(csv.DictReader(file), {})
    except OSError as error:
        raise tool.Failure(f"{error.filename}: {error.strerror}") from error
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}")


def _database(path, command):
    """Each table of the answer as one of a new SQLite file."""
    if os.path.exists(path):
        raise tool.Failure(f"{path}: already exists; give a new name")
    tables = _tables(command)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        for key, rows in tables.items():
            names = list(rows[0])
            quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
            database.execute(f'CREATE TABLE "{key}" ({quoted})')
            database.executemany(f'INSERT INTO "{key}" VALUES ({", ".join("?" * len(names))})',
                                 [[row.get(name) for name in names] for row in rows])
    print(f"{path}: {len(tables)} tables")


def _serve(command, port):
    """A page with the charts, for a browser on this machine, until Ctrl-C."""
    made = _made(command, "html")

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(made)))
            self.end_headers()
            self.wfile.write(made)

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass

    try:
        server = http.server.HTTPServer(("127.0.0.1", port), Page)
    except OSError as error:
        raise tool.Failure(f"port {port}: {error.strerror}; --random-port takes a free one") from error
    print(f"http://127.0.0.1:{server.server_port} shows the page; Ctrl-C ends it", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()


def _nodes(path):
    return sorted(name for name in os.listdir(path) if os.path.isfile(os.path.join(path, name, "pmc_perf.csv")))


def _first(parsed):
    path = parsed.get("path", [None])[0]
    if path is None:
        raise Usage("-p: needs DIR...")
    if not os.path.isdir(path):
        raise tool.Failure(f"{path}: no such folder")
    if "nodes" in parsed:
        path = os.path.join(path, parsed["nodes"][0])
        if not os.path.isdir(path):
            raise tool.Failure(f"{path}: no such node")
        parsed["path"][0] = path
    return path


def _lists(parsed):
    """What is shown instead of metrics; true if something was."""
    if "list-metrics" in parsed:
        tool.replace(["avail", "kernel-metrics", "--gpu", parsed["list-metrics"]])
    path = _first(parsed)
    if parsed.on("list-nodes"):
        print("\n".join(_nodes(path)))
        return True
    if parsed.on("specs"):
        _specs(path)
        return True
    if parsed.get("block") == ["21"]:
        trace = os.path.join(path, "profile.rpd")
        if not os.path.exists(trace):
            raise tool.Failure(f"{trace}: no such trace; rocprof-compute profile -b 21 writes it")
        tool.replace(["instructions", trace])
    return False


def _port(parsed):
    if parsed.on("random-port"):
        return 0
    return _whole("--gui", parsed["gui"]) if isinstance(parsed["gui"], str) else 8050


def _analyze(front, parsed):
    if _lists(parsed):
        return 0
    command = _sol(parsed)
    decimals = _whole("--decimal", parsed.text("decimal", "2"))
    verbose = _whole("--kernel-verbose", parsed.text("kernel-verbose", "0"))
    tell_differences(front, parsed)
    if "save-dfs" in parsed:
        _save(parsed["save-dfs"], command, decimals)
        return 0
    if "output-format" in parsed:
        if parsed["output-format"] != "db":
            raise Usage(f"--output-format: '{parsed['output-format']}' is not db")
        _database(parsed.text("output-name", "analysis") + ".db", command)
        return 0
    if "gui" in parsed or parsed.on("random-port"):
        _serve(command, _port(parsed))
        return 0
    if verbose >= 5:
        command.append("--full-names")
    if parsed.on("list-stats"):
        command += ["--table", "kernels"]
    if "output" in parsed:
        _into(parsed["output"])
    tool.replace(command)
    return 0


def rocprof_compute(parsed):
    return _analyze(compute_options.ROCPROF_COMPUTE, parsed)


def omniperf(parsed):
    return _analyze(compute_options.OMNIPERF, parsed)
