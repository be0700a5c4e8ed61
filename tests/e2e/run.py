#!/usr/bin/python3
"""Runs declarative end-to-end tests: run.py [options] SUITE.toml...

One line per case; the output of the commands only where a case fails. Exit status: 0 all passed,
1 a case failed, 2 the suite is wrong, 77 everything was skipped. README.md describes the format.
"""

import argparse
import contextlib
import functools
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pool  # noqa: E402
import reach  # noqa: E402
import spec  # noqa: E402

SKIPPED = 77
OTHER_USER = "other-user"
ROOT = Path(__file__).resolve().parents[2]


def main():
    arguments = parse_arguments()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    places = find_places(arguments.build)
    try:
        cases = [case for suite in arguments.suites for case in spec.load(suite)]
    except (spec.SpecError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    cases = [c for c in cases if not arguments.filter or re.search(arguments.filter, c.name)]
    if arguments.list:
        print("\n".join(case.name for case in cases))
        return 0
    return run_all(cases, places, arguments)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="+", metavar="SUITE")
    parser.add_argument("--build", default=str(ROOT / "build"), help="build folder")
    parser.add_argument("--filter", default="", help="only cases whose name matches this regex")
    parser.add_argument("--jobs", type=int, default=2, help="cases at a time")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6),
                        help="of random moments; printed, so that a run can be repeated")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases")
    parser.add_argument("--verbose", action="store_true", help="show the output of every case")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    return parser.parse_args()


def find_places(build):
    build = os.path.abspath(build)
    shared = os.path.abspath(os.environ.get("SONDE_SHARED", str(ROOT.parent / "shared")))
    return {"build": build, "src": str(ROOT), "shared": shared, "data": f"{shared}/data",
            "sonde": f"{build}/bin/sonde", "programs": f"{build}/tests/programs"}


def run_all(cases, places, arguments):
    failed, skipped, runnable = [], [], []
    print(f"{len(cases)} cases, seed {arguments.seed}")
    for case in cases:
        reason, broken = missing_need(case, places)
        if broken:
            report("FAIL", case, reason)
            failed.append(case.name)
        elif reason:
            report("skip", case, reason)
            skipped.append(case.name)
        else:
            runnable.append(case)
    together = [case for case in runnable if not case.exclusive]
    alone = [case for case in runnable if case.exclusive]
    with places_of(runnable, places) as places_for:
        for group, jobs in ((together, arguments.jobs), (alone, 1)):
            for case, outcome in run_group(group, jobs, places_for, arguments):
                if outcome.problems:
                    failed.append(case.name)
                show(case, outcome, arguments)
    passed = len(cases) - len(failed) - len(skipped)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    if failed:
        return 1
    return SKIPPED if cases and len(skipped) == len(cases) else 0


@contextlib.contextmanager
def places_of(cases, places):
    """A function from a case to the places that it uses."""
    open_places, made = places, ""
    if any(OTHER_USER in case.needs for case in cases):
        open_places, made = reach.reachable(places)
    try:
        yield lambda case: open_places if OTHER_USER in case.needs else places
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)


def run_group(cases, jobs, places_for, arguments):
    """Yields each case with its outcome."""
    tasks = [((case, places_for(case), f"{arguments.seed}/{case.name}", arguments.keep), case.limit())
             for case in cases]
    with pool.Pool(jobs) as workers:
        yield from zip(cases, workers.run(tasks))


def show(case, outcome, arguments):
    if outcome.problems:
        report("FAIL", case, "; ".join(outcome.problems), outcome.seconds)
    else:
        report("ok", case, "", outcome.seconds)
    if outcome.problems or arguments.verbose:
        print("".join(f"     | {line}\n" for line in outcome.log.splitlines()), end="", flush=True)
    if outcome.directory:
        print(f"     kept: {outcome.directory}")


def report(word, case, text, seconds=None):
    took = "" if seconds is None else f" ({seconds:.1f} s)"
    print(f"{word:4} {case.name}{took}{': ' + text if text else ''}", flush=True)


def missing_need(case, places):
    """(reason, broken): why the case cannot run here; broken where that is itself a failure."""
    for need in case.needs:
        kind, _, name = need.partition(":")
        if kind == "shared":
            if not os.path.isdir(places["shared"]):
                return f"needs {places['shared']} (SONDE_SHARED)", False
            if not os.path.exists(os.path.join(places["shared"], name)):
                return f"{places['shared']} has no {name}", True
        elif not NEED_CHECKS[kind](name, places):
            return f"needs {need.replace(':', ' ')}", False
    return "", False


@functools.lru_cache(maxsize=None)
def python_succeeds(code):
    """In a process of its own: a library loaded here would be in every worker."""
    command = ["/usr/bin/python3", "-c", code]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


HAS_OPENCL = """
import ctypes, sys
count = ctypes.c_uint(0)
code = ctypes.CDLL("libOpenCL.so.1").clGetPlatformIDs(0, None, ctypes.byref(count))
sys.exit(0 if code == 0 and count.value > 0 else 1)
"""


HIP = "libamdhip64.so.7|libamdhip64.so.6|libamdhip64.so.5"


def can_load(names):
    """One of a|b, whose version differs between releases of Debian."""
    return any(python_succeeds(f"import ctypes; ctypes.CDLL('{name}')") for name in names.split("|"))


def keeps_time_by_tsc():
    """As `sonde record --clock tsc` asks for it."""
    try:
        with open(f"{CLOCK_SOURCE}/current_clocksource", encoding="ascii") as file:
            return file.read().strip() == "tsc"
    except OSError:
        return False


# perf_event_open of this thread's time in user mode (PERF_COUNT_SW_TASK_CLOCK), on x86-64.
HAS_PERF_EVENTS = """
import ctypes, struct, sys
attributes = struct.pack("<IIQQQQQ", 1, 112, 1, 1000000, 0, 0, 1 << 5).ljust(112, b"\\0")
sys.exit(0 if ctypes.CDLL(None).syscall(298, attributes, 0, -1, -1, 8) >= 0 else 1)
"""


def can_unshare(*options):
    """Not without the capability; no mounts in a chroot whose root is no mount point, and no users in
    any chroot."""
    return subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0


def can_unshare_network():
    return can_unshare("--net", *([] if os.geteuid() == 0 else ["--map-current-user"]))


def can_others_unshare():
    """Whether root may become a user who may have namespaces of users and of processes."""
    return subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", "unshare", "--map-root-user", "--pid", "--fork",
                           "true"], capture_output=True, check=False).returncode == 0


CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0"

NEED_CHECKS = {
    "opencl": lambda name, places: python_succeeds(HAS_OPENCL),
    "hip": lambda name, places: can_load(HIP),
    "root": lambda name, places: os.geteuid() == 0,
    OTHER_USER: lambda name, places: os.geteuid() == 0,
    "tsc": lambda name, places: keeps_time_by_tsc(),
    "private-network": lambda name, places: can_unshare_network(),
    "private-mounts": lambda name, places: can_unshare("--mount"),
    "user-namespace": lambda name, places: can_unshare("--map-root-user"),
    "other-user-namespace": lambda name, places: can_others_unshare(),
    "perf-events": lambda name, places: python_succeeds(HAS_PERF_EVENTS),
    "command": lambda name, places: shutil.which(name) is not None,
    "python": lambda name, places: python_succeeds(f"import {name}"),
    "torch": lambda name, places: python_succeeds(f"import torch; assert int(torch.__version__.split('.')[0]) >= {name}"),
    "file": lambda name, places: bool(glob.glob(spec.substitute(name, places))),
    "machine": lambda name, places: os.uname().machine == name,
    "lib": lambda name, places: can_load(name),
    "env": lambda name, places: bool(os.environ.get(name)),
    "program": lambda name, places: os.path.exists(f"{places['programs']}/{name}"),
}

if __name__ == "__main__":
    sys.exit(main())
