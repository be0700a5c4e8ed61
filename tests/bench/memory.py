#!/usr/bin/python3
"""Peak memory of each command, on a generated trace of PyTorch's form with 1 M events (350 MB), as JSON
and as the .rpd that it becomes. What an event costs is the difference to a trace of a tenth: nothing is
the goal of those that read a row at a time."""
# runs: 1
import subprocess

from measuring import BUILD, FOLDER, SONDE, row, timed

HELPER = f"{BUILD}/tests/programs/kineto_json"
FEW, MANY = 100_000, 1_000_000
ASK = ("api", "breakdown", "busy", "check", "collectives", "copies", "counters", "critical-path",
       "idle", "info", "kernels", "ktop", "launches", "memory", "operators", "overlap", "perf",
       "queues", "ranks", "report", "sequences", "stacks", "stats", "top", "variability")
EXPORT = ("chrome", "perfetto", "rocpd", "rocprof", "rocprofv3", "folded", "speedscope", "pprof")
MORE = {"report": ["--format", "text"]}
# A result of as many rows as the trace has calls, and one that is larger than the trace.
QUERIES = {"query, every call": "SELECT * FROM v_api",
           "query, every call and its text": "SELECT a.*, u.string FROM v_api a JOIN v_ustring u "
                                             "ON u.id = a.args_id"}
CONSTANT = {"query, every call": 2.0, "query, every call and its text": 2.0, "import": 60.0,
            "info": 2.0}


def peak_mb(*words):
    """MB, or None if the command has nothing to say of this trace."""
    taken = timed(SONDE, *words, check=False)
    return taken.peak_mb if taken.status in (0, 1) else None


def commands(trace, rpd):
    """(name, words) of each."""
    for name in ASK:
        yield name, [name, rpd, *MORE.get(name, [])]
        if name in ("top", "operators", "critical-path"):
            yield f"{name} of JSON", [name, trace]
    for name, sql in QUERIES.items():
        yield name, ["query", rpd, sql, "--format", "csv"]
    for name in EXPORT:
        yield f"export {name}", ["export", rpd, "--format", name, "-o", FOLDER / f"out.{name}"]
    yield "import", ["import", trace, "-o", FOLDER / "again.rpd"]
    yield "merge", ["merge", rpd, rpd, "-o", FOLDER / "merged.rpd"]


def measure(events):
    trace, rpd = FOLDER / "trace.json", FOLDER / "trace.rpd"
    subprocess.run([HELPER, "mixed", str(events), str(trace)], check=True)
    subprocess.run([SONDE, "import", trace, "-o", rpd], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    found = {}
    for name, words in commands(trace, rpd):
        found[name] = peak_mb(*words)
        for path in FOLDER.iterdir():
            if path not in (trace, rpd):
                subprocess.run(["rm", "-r", path], check=True)
    trace.unlink()
    rpd.unlink()
    return found


few, many = measure(FEW), measure(MANY)
for name, memory in many.items():
    if memory is None or few[name] is None:
        continue
    row(f"{name}: memory", memory, "MB")
    each = (memory - few[name]) * (1 << 20) / (MANY - FEW)
    row(f"{name}: memory of an event", each, "B", goal=CONSTANT.get(name))
