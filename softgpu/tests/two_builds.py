#!/usr/bin/env python3
"""Checks that every HIP program of the software GPU's tests and of the examples gives the same result when built by
hipcc alone, running as machine code, as when built by softgpu-hipcc, running as host code.

  two_builds.py --build build [NAME...]    all, or those that are named

Times, addresses and the order of lines, which differ from run to run, are not compared. Exit status: 0 all are equal,
1 one is not, 77 there is no hipcc or no softgpu-hipcc."""
import argparse
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.join(HERE, "..", "..")
LIMIT_S = 900

# The runs of a program, each with its arguments; the link options; and how the second build runs.
# "host": each kernel must have host code. "auto": kernels without host code have machine code.
Program = collections.namedtuple("Program", "runs options second", defaults=([], "host"))
PROGRAMS = {
    "bounds": Program([[]]),
    "busy": Program([["0.2"]]),
    "compute": Program([[]], ["-Wno-unused-result"]),
    # Groups that wait for later ones run as machine code.
    "cooperative": Program([[]], second="auto"),
    "copies": Program([[]]),
    "exits": Program([["return"], ["exit"], ["thread"], ["quick"]]),
    "forks": Program([["before"], ["after"]]),
    "handlers": Program([[]]),
    "ipc": Program([[]]),
    "matmul_hip": Program([["--m", "70", "--k", "33", "--n", "50"]]),
    "ops": Program([[mode] for mode in ("vadd", "streams", "events", "graph", "managed", "rectangles", "fills", "peers",
                                        "scratch")]),
    "product": Program([["1"]]),
    "rocprim": Program([[]]),
    # The library's kernels have no host code.
    "rocrand": Program([["404", "uint", "1000", "12345"]], second="auto"),
    "rocsparse": Program([[]], second="auto"),
    "spin": Program([["0.1"]], second="auto"),  # assembly
    "training_hip": Program([["--steps", "2"]], ["-I" + os.path.join(ROOT, "include"), "-ldl"]),
    "virtual_memory": Program([[]]),
    "waiting": Program([[]], ["-Wno-unused-result"]),
}
VARIES = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)? (ns|us|ms|s|%|samples a second|GFLOP/s)(?!\w)|\"ms_each\": [\d.]+")


def sources():
    found = [*glob.glob(f"{HERE}/hip/*.hip"), *glob.glob(f"{HERE}/kernels/*.hip"), *glob.glob(f"{ROOT}/examples/*/*_hip.cpp")]
    return {os.path.splitext(os.path.basename(path))[0]: path for path in found}


def built_by_hipcc(build, name):
    """The build folder's executable of the program, if hipcc alone builds it there."""
    found = [*glob.glob(f"{build}/tests/softgpu/{name}"), *glob.glob(f"{build}/examples/*/hip/{name}")]
    return found[0] if found else None


def compile_with(compiler, source, options, output):
    done = subprocess.run([compiler, "-std=c++17", "-O2", "-w", "--offload-arch=gfx90a", "-x", "hip", source, "-o", output,
                           "-pthread", *options], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout + done.stderr)
    return output if done.returncode == 0 else None


def result(build, engine, program, arguments):
    done = subprocess.run([f"{build}/bin/softgpu", "--gpu", "gfx90a:2", "--engine", engine, "--", program, *arguments],
                          capture_output=True, timeout=LIMIT_S, check=False)
    text = (done.stdout + done.stderr).decode("latin-1")
    lines = VARIES.sub("#", text.replace(program, "PROGRAM")).splitlines()
    return done.returncode, "\n".join(sorted(lines))  # with two processes, either may write first


def is_equal(build, name, source, folder):
    program = PROGRAMS[name]
    plain = built_by_hipcc(build, name) or compile_with("hipcc", source, program.options, f"{folder}/{name}.hipcc")
    both = compile_with(f"{build}/softgpu/compiler/softgpu-hipcc", source, program.options, f"{folder}/{name}")
    if not plain or not both:
        print(f"{name}: not built")
        return False
    equal = True
    for arguments in program.runs:
        first, second = result(build, "isa", plain, arguments), result(build, program.second, both, arguments)
        if first == second and first[0] in (0, 77) and first[1]:
            print(f"{' '.join([name, *arguments])}: the same {len(first[1])} characters", flush=True)
        else:
            print(f"{' '.join([name, *arguments])}: by hipcc {first}\n  by softgpu-hipcc {second}", flush=True)
            equal = False
    return equal


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    build = os.path.realpath(args.build)
    if not shutil.which("hipcc") or not os.path.exists(f"{build}/softgpu/compiler/softgpu-hipcc"):
        print("skipped: there is no hipcc, or no softgpu-hipcc")
        return 77
    found = sources()
    if found.keys() != PROGRAMS.keys():
        print("programs that this test does not know, or that are gone:", *sorted(found.keys() ^ PROGRAMS.keys()))
        return 1
    with tempfile.TemporaryDirectory(prefix="softgpu-two-") as folder:
        equal = [is_equal(build, name, found[name], folder) for name in args.names or sorted(found)]
    print(f"{len(equal)} programs, {equal.count(False)} differ")
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
