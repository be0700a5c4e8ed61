#!/usr/bin/python3
"""The analyses from a cold process to printed answers: `sonde analyze` and each analysis by itself, on
generated traces of PyTorch's form with 0.1, 1 and 10 M events (3.5 GB), and `sonde breakdown` on an .rpd of
10 M operations. Files are not in the page cache when their first reader begins. CPU time is that of all
threads; ns an event shows whether the cost is linear."""
# runs: 1
import json
import os
import pathlib
import sqlite3
import subprocess
import time

BUILD, SONDE = os.environ["SONDE_BUILD"], os.environ["SONDE"]
FOLDER = pathlib.Path(os.environ["SONDE_BENCH_DIR"])
HELPER = f"{BUILD}/tests/programs/kineto_json"
SIZES = (100_000, 1_000_000, 10_000_000)
EACH = ("breakdown", "kernels", "top", "busy", "idle", "overlap", "launches", "queues", "copies",
        "operators", "memory", "stacks", "critical-path", "sequences", "variability", "collectives",
        "ranks", "counters", "perf", "check", "report", "diff")
MORE = {"report": ["--format", "text"]}
TWO_FILES = ("diff",)
OPS = 10_000_000


def row(name, value, unit, **more):
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}))


def measure(*words):
    """(wall s, CPU s, peak resident MB)"""
    started = time.monotonic()
    process = subprocess.Popen([SONDE, *words], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"sonde {' '.join(words)} ended with {process.returncode}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def generated(events):
    path = FOLDER / f"{events}.json"
    subprocess.run([HELPER, "mixed", str(events), str(path)], check=True)
    return path


def make_cold(path):
    """Takes a file out of the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def bench_kineto():
    for events in SIZES:
        path = generated(events)
        label = f"{events / 1e6:g} M events"
        make_cold(path)
        wall, cpu, memory = measure("analyze", str(path))
        goal = {"goal": 1.0} if events == 1_000_000 else {}
        row(f"analyze, {label}: time", wall, "s", **goal)
        row(f"analyze, {label}: CPU", cpu * 1e9 / events, "ns an event")
        goal = {"goal": 500} if events == 1_000_000 else {}
        row(f"analyze, {label}: memory", memory, "MB", **goal)
        _, loading, _ = measure("analyze", str(path), "--only", "api")
        row(f"reading alone, {label}: CPU", loading * 1e9 / events, "ns an event")
        for name in EACH:
            wall, cpu, memory = measure(name, *[str(path)] * (2 if name in TWO_FILES else 1),
                                   *MORE.get(name, []))
            row(f"{name} with reading, {label}: CPU", cpu * 1e9 / events, "ns an event")
            row(f"{name} with reading, {label}: memory", memory, "MB")
            if name == "critical-path" and events == 1_000_000:
                row(f"{name}, {label}: time", wall, "s", goal=2.0)
        path.unlink()


def large_rpd():
    """Kernels of 40 names on two queues, in order, as a recorder writes them."""
    source, path = FOLDER / "small.json", FOLDER / "large.rpd"
    subprocess.run([HELPER, "generate", "1000", str(source)], check=True)
    subprocess.run([SONDE, "import", str(source), "-o", str(path)], check=True,
                   capture_output=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA journal_mode = MEMORY")
    names = [database.execute("INSERT INTO rocpd_string (string) VALUES (?)",
                              (f"kernel_{i}",)).lastrowid for i in range(40)]
    (kind,) = database.execute("SELECT id FROM rocpd_string WHERE string = 'KernelExecution'"
                               ).fetchone()
    (start,) = database.execute('SELECT max("end") FROM rocpd_op').fetchone()
    database.executemany(
        'INSERT INTO rocpd_op (gpuId, queueId, sequenceId, start, "end", description_id, opType_id)'
        " VALUES (0, ?, 0, ?, ?, ?, ?)",
        ((i & 1, start + 10_000 * i, start + 10_000 * i + 4_000 + i % 3000, names[i % 40], kind)
         for i in range(OPS)))
    database.commit()
    database.close()
    return path


def main():
    bench_kineto()
    path = large_rpd()
    make_cold(path)
    wall, cpu, memory = measure("breakdown", str(path))
    row("breakdown, .rpd of 10 M operations: time", wall, "s", goal=3)
    row("breakdown, .rpd of 10 M operations: CPU", cpu * 1e9 / OPS, "ns an operation")
    row("breakdown, .rpd of 10 M operations: memory", memory, "MB")


if __name__ == "__main__":
    main()
