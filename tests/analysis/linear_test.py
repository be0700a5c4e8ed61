#!/usr/bin/python3
"""Every analysis takes time in proportion to the trace, whatever its shape: each is asked about
traces of n and of 4 n events, and its CPU time, without that of an empty trace, may grow by a factor
of 8 at most (quadratic would be 16). Differences too small to be measured are let pass.

    linear_test.py --sonde PATH [--events N] [SHAPE...]"""
import argparse
import json
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / name) for name in ("verdicts", "support")]
from direct import analyses  # noqa: E402  (found through the line above)
from trace import Trace  # noqa: E402

EVENTS = 10_000  # of the smaller trace
MOST_GROWTH = 8
MEASURABLE = 0.15  # seconds of CPU time
# Asked beside what `sonde analyze` knows by name; with each the words after the file.
COMMANDS = {"check": (), "info": (), "diff": ("its copy",), "ranks": ("its copy",), "merge": None,
            "breakdown --per step": (), "critical-path --show slack": (),
            "critical-path --what-if gemm=50": (), "stacks --weight wall --by tree": (),
            "stacks --by stack": (), "kernels --by module": (), "kernels --by operator": ()}


def staggered(n):
    """Asynchronous ranges of one thread, each half over the next ones."""
    trace = Trace()
    for i in range(n):
        for phase, at in (("b", i), ("e", i + n)):
            trace.events.append({"ph": phase, "cat": "req", "name": "r", "id": i, "pid": 7, "tid": 7,
                                 "ts": at})
    trace.kernel("gemm", at=5, lasts=5, launched=0)
    return trace


def nested(n):
    """Operators, each in the one before; the innermost launches."""
    trace = Trace()
    for i in range(n):
        trace.operator(f"aten::f{i % 3}", at=i, lasts=4 * n - 2 * i)
    trace.kernel("gemm", at=2 * n, lasts=5, launched=n + 1)
    return trace


def streams(n):
    """Each kernel has a stream of its own, and the program waits for it."""
    trace = Trace()
    for i in range(n // 3):
        trace.kernel("gemm", at=10 * i + 3, lasts=5, launched=10 * i, stream=i)
        trace.call("cudaStreamSynchronize", at=10 * i + 4, lasts=5)
    return trace


def waits(n):
    """Two streams that wait for each other's events."""
    trace = Trace()
    for i in range(n // 5):
        trace.call("cudaEventRecord", at=20 * i, lasts=1)
        trace.call("cudaStreamWaitEvent", at=20 * i + 1, lasts=1)
        trace.kernel("gemm", at=20 * i + 4, lasts=16, launched=20 * i + 2, stream=i % 2)
        trace.call("cudaDeviceSynchronize", at=20 * i + 4, lasts=15)
    return trace


def overlapping(n):
    """All kernels run at once."""
    trace = Trace()
    for i in range(n // 2):
        trace.kernel("gemm", at=2 * i + 2, lasts=2 * n, launched=2 * i)
    return trace


def names(n):
    """No two kernels have the same name, and no two operators."""
    trace = Trace()
    for i in range(n // 3):
        trace.operator(f"my::op_{i}_x", at=10 * i, lasts=8)
        trace.kernel(f"kernel_{i}_x", at=10 * i + 3, lasts=4, launched=10 * i + 1)
    return trace


def threads(n):
    """Each kernel is launched by a thread of its own."""
    trace = Trace()
    for i in range(n // 2):
        trace.kernel("gemm", at=10 * i + 3, lasts=5, launched=10 * i, thread=100 + i)
    return trace


def steps(n):
    """Steps of one kernel, in a module of its own, with a gap in which the host loads data."""
    trace = Trace()
    for i in range(n // 6):
        at = 100 * i
        trace.step(i, at, 99)
        trace.python(f"nn.Module: Linear_{i}", at + 1, 90)
        trace.python("train.py(12): step", at + 2, 20)
        trace.range("enumerate(DataLoader)#Iter.__next__", at + 30, 50)
        trace.kernel("gemm", at=at + 85, lasts=10, launched=at + 82)
    return trace


def collectives(n):
    """All-reduces, one after the other, each beside a kernel."""
    trace = Trace(rank=0, world=2)
    for i in range(n // 4):
        trace.collective("allreduce", at=20 * i + 5, lasts=12, ranks=[0, 1], launched=20 * i + 1)
        trace.kernel("gemm", at=20 * i + 6, lasts=8, launched=20 * i + 3)
    return trace


def memory(n):
    """Allocations that are freed in the order in which they were made, at the end."""
    trace = Trace()
    for i in range(n):
        name, at = ("hipMalloc", i) if i < n // 2 else ("hipFree", i)
        trace.call(name, at=at, lasts=0.5, ptr=hex(0x1000 + i % (n // 2)), size=4096)
    trace.kernel("gemm", at=5, lasts=5, launched=0)
    return trace


def one_number(n):
    """Calls and kernels of a tool that gives them all the same correlation number."""
    trace = Trace()
    for i in range(n // 2):
        trace.kernel("gemm", at=10 * i + 3, lasts=5, launched=10 * i)
    for event in trace.events:
        event["args"]["correlation"] = 0
    return trace


SHAPES = (staggered, nested, streams, waits, overlapping, names, threads, steps, collectives, memory,
          one_number)


class Sonde:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def cpu_seconds(self, command, trace):
        verb, *options = command.split()
        rest = COMMANDS.get(command, ())
        words = [self.program, verb, trace, *options]
        if rest is None:
            made = self.folder / "made.rpd"
            made.unlink(missing_ok=True)
            words = [self.program, verb, trace, trace, "-o", str(made)]
        elif rest:
            words.append(shutil.copy(trace, self.folder / "copy.json"))
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        made = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
        if made.returncode not in (0, 1) or "error" in made.stderr:
            raise SystemExit(f"{' '.join(words)}: {made.stderr}")
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def growth_of(sonde, command, small, large, start):
    """Factor by which the time beyond `start` grows; the best of three, for a machine that does other
    things."""
    least = float("inf")
    for _ in range(3):
        longer = sonde.cpu_seconds(command, large) - start
        if longer < MEASURABLE:
            return 0
        least = min(least, longer / max(sonde.cpu_seconds(command, small) - start, 0.01))
        if least <= MOST_GROWTH:
            break
    return least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sonde", required=True)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--only", help="one command")
    parser.add_argument("shapes", nargs="*")
    options = parser.parse_args()
    slow = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sonde = Sonde(options.sonde, folder)
        empty = Trace().write(folder / "empty.json")
        commands = [options.only] if options.only else [*analyses(options.sonde), *COMMANDS]
        start = {command: sonde.cpu_seconds(command, empty) for command in commands}
        for shape in SHAPES:
            if options.shapes and shape.__name__ not in options.shapes:
                continue
            small = shape(options.events).write(folder / "small.json")
            large = shape(4 * options.events).write(folder / "large.json")
            for command in commands:
                growth = growth_of(sonde, command, small, large, start[command])
                if growth > MOST_GROWTH:
                    slow.append(f"{command} of {shape.__name__}: {growth:.1f} times as long for four "
                                "times the events")
    for line in slow:
        print(line)
    print(f"{len(commands)} commands, {len(SHAPES)} shapes, {len(slow)} slow")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
