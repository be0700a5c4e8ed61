#!/usr/bin/python3
"""The analyses from a cold process to printed answers: `sonde analyze` and each analysis by itself, on
generated traces of PyTorch's form with 0.1, 1 and 10 M events (3.5 GB), and `sonde breakdown` on an .rpd of
10 M operations. Files are not in the page cache when their first reader begins. CPU time is that of all
threads; ns an event shows whether the cost is linear."""
# runs: 1
import sqlite3
import subprocess

from measuring import BUILD, FOLDER, SONDE, make_cold, row, timed

HELPER = f"{BUILD}/tests/programs/kineto_json"
SIZES = (100_000, 1_000_000, 10_000_000)
EACH = ("breakdown", "kernels", "top", "busy", "idle", "overlap", "launches", "queues", "copies",
        "operators", "memory", "stacks", "critical-path", "sequences", "variability", "collectives",
        "ranks", "counters", "perf", "check", "report", "diff")
MORE = {"report": ["--format", "text"]}
TWO_FILES = ("diff",)
OPS = 10_000_000


def generated(events):
    path = FOLDER / f"{events}.json"
    subprocess.run([HELPER, "mixed", str(events), str(path)], check=True)
    return path


def bench_kineto():
    for events in SIZES:
        path = generated(events)
        label = f"{events / 1e6:g} M events"
        make_cold(path)
        has_goals = events == 1_000_000
        taken = timed(SONDE, "analyze", path)
        row(f"analyze, {label}: time", taken.wall_s, "s", goal=1.0 if has_goals else None)
        row(f"analyze, {label}: CPU", taken.cpu_s * 1e9 / events, "ns an event")
        row(f"analyze, {label}: memory", taken.peak_mb, "MB", goal=500 if has_goals else None)
        loading = timed(SONDE, "analyze", path, "--only", "api")
        row(f"reading alone, {label}: CPU", loading.cpu_s * 1e9 / events, "ns an event")
        for name in EACH:
            taken = timed(SONDE, name, *[path] * (2 if name in TWO_FILES else 1), *MORE.get(name, []))
            row(f"{name} with reading, {label}: CPU", taken.cpu_s * 1e9 / events, "ns an event")
            row(f"{name} with reading, {label}: memory", taken.peak_mb, "MB")
            if name == "critical-path" and has_goals:
                row(f"{name}, {label}: time", taken.wall_s, "s", goal=2.0)
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
    taken = timed(SONDE, "breakdown", path)
    row("breakdown, .rpd of 10 M operations: time", taken.wall_s, "s", goal=3)
    row("breakdown, .rpd of 10 M operations: CPU", taken.cpu_s * 1e9 / OPS, "ns an operation")
    row("breakdown, .rpd of 10 M operations: memory", taken.peak_mb, "MB")


if __name__ == "__main__":
    main()
