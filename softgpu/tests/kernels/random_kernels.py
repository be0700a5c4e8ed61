#!/usr/bin/env python3
"""Builds and runs random kernels, each against its host program (generate.py): as host code, as machine
code on the engine, or both.

  random_kernels.py --build build --seeds 1-3 --kernels 8      what ctest runs
  random_kernels.py --build build --seeds 100-400              a longer run

Exit status: 0 all agree, 1 one differs or does not build, 77 there is no hipcc.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
SOFTGPU = os.path.join(HERE, "..", "..")
CPU_LIMIT_S = 120  # per process; most need 3 s
LIMIT_S = 1800     # for one that waits forever; on a loaded machine a compiler takes long

# Kernels that clang miscompiles, by version and architecture: confirmed in the generated code.
SIGN_OF_ZERO = ["k11_1"]  # 0.0 - v1 becomes -v1
WRONG = {
    (17, "gfx90a"): ["k1_5"],  # one path needs ~v5, but never computes it
    (17, "gfx906"): SIGN_OF_ZERO,
    (17, "gfx908"): SIGN_OF_ZERO,
    (21, "gfx906"): SIGN_OF_ZERO,
    (21, "gfx908"): SIGN_OF_ZERO,
}


def run(command):
    """Exit status and output. The status is None if the command, or what it started, was killed after the time
    limit."""
    with subprocess.Popen(["prlimit", f"--cpu={CPU_LIMIT_S}", *command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, f"{output}\nended after {LIMIT_S} s"
    return process.returncode, output


def oracle(args, header):
    """The command to compile host programs, without optimisation. `header` is the folder of the precompiled header,
    which saves half of the work."""
    return [args.cxx, "-std=c++20", "-O0", "-w", "-ffp-contract=off", "-rdynamic", f"-I{header}", f"-I{HERE}",
            f"-I{SOFTGPU}", f"-I{os.path.join(SOFTGPU, '..', 'src')}"]


def clang_version():
    """The major version of hipcc's clang, such as 15."""
    found = re.search(r"clang version (\d+)", run(["hipcc", "--version"])[1])
    return int(found[1]) if found else 0


def takes_groups_for_whole(version):
    """HIP has no partial work groups, and these clangs rely on that; later ones have an option for it."""
    return 16 <= version < 18


def prints_its_code(args, device, sources):
    """clang 17 emits instructions without a register in unoptimised code, and crashes when it prints them."""
    status, output = run(["hipcc", *device, f"--offload-arch={args.arch}", "--cuda-device-only", "-S", *sources,
                          "-o", "/dev/null"])
    return status == 0 or "AMDGPU Assembly Printer" not in output


def check(seed, args, folder, header):
    kernels = os.path.join(folder, "kernels.o")
    code = os.path.join(folder, "kernels.co")
    program = os.path.join(folder, "check")
    sources = [os.path.join(folder, "kernels.hip")]
    device = ["-std=c++17", args.optimise, "-w", "-ffp-contract=off", f"-I{HERE}",
              *(["-fno-offload-uniform-block"] if args.clang >= 18 else [])]
    by_host, by_machine = args.ways in ("both", "host"), args.ways in ("both", "machine")
    generate = [sys.executable, os.path.join(HERE, "generate.py"), "--seed", str(seed), "--kernels", str(args.kernels),
                "--out", folder, "--arch", args.arch, *(["--whole"] if takes_groups_for_whole(args.clang) else []),
                "--without", *WRONG.get((args.clang, args.arch), [])]
    status, output = run(generate)
    if status != 0:
        print(f"seed {seed}: {' '.join(generate)}: status {status}\n{output}", flush=True)
        return False
    if by_machine and args.optimise == "-O0" and not prints_its_code(args, device, sources):
        print(f"seed {seed}: clang {args.clang} cannot print its code: not run as machine code", flush=True)
        by_machine = False
    host_objects = [kernels] if by_host else []
    libraries = [os.path.join(args.build, name) for name in
                 ("softgpu/libsoftgpu_isa.a", "softgpu/libsoftgpu_counters.a", "softgpu/libsoftgpu_compute.a",
                  "src/gpu/libsonde_gpu.a", "src/base/libsonde_base.a")]
    steps = [
        [os.path.join(args.build, "softgpu/compiler/softgpu-hipcc"), *device, "--offload-arch=gfx90a",
         "--softgpu-kernels", f"--softgpu-march={args.march}", "-c", *sources, "-o", kernels] if by_host else [],
        ["hipcc", *device, f"--offload-arch={args.arch}", "--cuda-device-only", "-c", *sources,
         "-o", code] if by_machine else [],
        [*oracle(args, header), os.path.join(folder, "expected.cpp"), *host_objects, *libraries,
         "-lfmt", "-lpthread", "-o", program],
        [program, str(args.threads), *([code] if by_machine else [])],
    ]
    for step in filter(None, steps):
        status, output = run(step)
        if status != 0 or "warning" in output:
            print(f"seed {seed}: {' '.join(step)}: status {status}\n{output}", flush=True)
            return False
    print(f"seed {seed}: {output.strip()}", flush=True)
    return True


def one(seed, args, header):
    folder = tempfile.mkdtemp(prefix=f"softgpu-seed{seed}-")
    equal = check(seed, args, folder, header)
    if args.keep:
        print(f"kept {folder}")
    else:
        shutil.rmtree(folder)
    return equal


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--seeds", default="1-3", help="FIRST-LAST")
    parser.add_argument("--kernels", type=int, default=8, help="in each seed")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count()), help="seeds at a time")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--optimise", default="-O2", help="-O0 to -O3, of the device side")
    parser.add_argument("--march", default="x86-64")
    parser.add_argument("--cxx", default="g++")
    parser.add_argument("--ways", default="both", choices=("both", "host", "machine"))
    parser.add_argument("--arch", default="gfx90a", help="of the machine code")
    parser.add_argument("--keep", action="store_true", help="keep what was built")
    args = parser.parse_args()
    if not shutil.which("hipcc"):
        print("skipped: there is no hipcc")
        return 77
    args.clang = clang_version()
    first, _, last = args.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    with tempfile.TemporaryDirectory(prefix="softgpu-header-") as header:
        compiled = os.path.join(header, "expected.h.gch")
        status, output = run([*oracle(args, header), "-x", "c++-header", os.path.join(HERE, "expected.h"), "-o", compiled])
        if status != 0:
            print(output)
            return 1
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            equal = list(pool.map(lambda seed: one(seed, args, header), seeds))
    print(f"{args.kernels * len(seeds)} kernels of {len(seeds)} seeds: {equal.count(False)} seeds failed")
    return 0 if all(equal) else 1


if __name__ == "__main__":
    sys.exit(main())
