#!/usr/bin/env python3
"""Counters of kernels in assembly: those of kernels.toml, which were written to have known counts, and random ones,
whose counts trace_counts.py derives from a trace of their instructions.

  count_test.py --engine build/tests/softgpu/run_engine [--random 50] [--first-seed 1]
  count_test.py --engine ... --softgpu build/bin/softgpu --hsa build/tests/softgpu/run_hsa

The second reads the counters as a profiler does, and compares them with the same counts, place by place.

Exit status: 0 all are equal, 1 some differ, 77 there is no clang that assembles for AMD GPUs.
"""
import argparse
import collections
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib

import random_code
import trace_counts

HERE = os.path.dirname(os.path.realpath(__file__))
FRAME = """
.globl {name}
.p2align 8
.type {name},@function
{name}:
{code}
s_endpgm
.section .rodata,"a"
.p2align 6
.amdhsa_kernel {name}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_flat_scratch_init 0
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_next_free_vgpr 128
  .amdhsa_accum_offset 64
  .amdhsa_next_free_sgpr 64
  .amdhsa_group_segment_fixed_size 16384
  .amdhsa_private_segment_fixed_size 64
  .amdhsa_system_sgpr_private_segment_wavefront_offset {scratch}
  .amdhsa_kernarg_size 16
.end_amdhsa_kernel
.text
"""


def assemble(kernels, folder):
    """The code object; None without an assembler."""
    compiler = next((found for found in (shutil.which(f"clang-{version}") for version in (15, 16, *range(17, 23), 14))
                     if found), None)
    if not compiler:
        return None
    source, output = os.path.join(folder, "kernels.s"), os.path.join(folder, "kernels.co")
    with open(source, "w") as file:
        file.write(".text\n" + "".join(
            FRAME.format(name=kernel["name"], code=kernel.get("code", ""), scratch=0) for kernel in kernels))
    made = subprocess.run([compiler, "-x", "assembler", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx90a", source, "-o",
                           output], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if made.returncode != 0:
        if "No available targets" in made.stdout or "unable to execute" in made.stdout:
            return None
        sys.exit(f"{source} does not assemble:\n{made.stdout}")
    return output


def read_counts(text):
    """{kernel: {(counter, engine, instance): value}} from the program's output; a failure is a string."""
    found, kernel = {}, None
    for line in text.splitlines():
        words = line.split()
        if words[0] == "kernel":
            kernel = found[words[1]] = collections.Counter()
        elif words[0] == "failed":
            found[list(found)[-1]] = line
        else:
            kernel[words[0], int(words[1]), int(words[2])] = int(words[3])
    return found


def sum_of(counts, counter):
    return sum(value for (name, _, _), value in counts.items() if name == counter)


def differences_by_hand(kernel, counts):
    wrong = [f"{counter}: {sum_of(counts, counter)}, and not {value}" for counter, value in kernel["counts"].items()
             if sum_of(counts, counter) != value]
    for counter, values in kernel.get("engines", {}).items():
        got = [counts.get((counter, engine, 0), 0) for engine in range(8)]
        if got != values:
            wrong.append(f"{counter}: {got}, and not {values}")
    return wrong


def differences_from_trace(counts, traced, exact):
    wrong = []
    for key in sorted(set(traced) | {key for key in counts if key[0] in exact}):
        if traced.get(key, 0) != counts.get(key, 0):
            wrong.append(f"{key}: {counts.get(key, 0)}, but {traced.get(key, 0)} from the trace")
    return wrong


def table():
    """[(name, block, event, class)] from the source of `softgpu --counters`."""
    with open(os.path.join(HERE, "../../counters/counters.inc")) as lines:
        rows = [line[8:].split(", ", 4) for line in lines if line.startswith("COUNTER(")]
    return [(name, block[1:].upper(), event, kind) for name, block, event, kind, _ in rows]


def exact_counters():
    return {name for name, _, _, kind in table() if kind == "kExact"}


def run_program(command, lines):
    ran = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, timeout=600)
    if ran.returncode != 0:
        sys.exit(f"{command[0]}: status {ran.returncode}\n{ran.stdout[-2000:]}")
    return ran.stdout


def by_hsa(args, code, lines):
    """Checks what a profiler reads, and that exactly the refused counters are refused."""
    asked = table()
    output = run_program([args.softgpu, "--engine", "isa", "--", args.hsa, code] +
                         [f"{block}:{event}:{name}" for name, block, event, _ in asked], lines)
    refused = {line.split()[1] for line in output.splitlines() if line.startswith("refused ")}
    expected = {name for name, _, _, kind in asked if kind == "kRefused"}
    if refused != expected:
        sys.exit(f"refused, or not, against the table: {' '.join(sorted(refused ^ expected))}")
    return read_counts("\n".join(line for line in output.splitlines() if not line.startswith("refused ")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True, help="run_engine")
    parser.add_argument("--softgpu", help="the launcher")
    parser.add_argument("--hsa", help="run_hsa, which is run under the launcher")
    parser.add_argument("--random", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    with open(os.path.join(HERE, "kernels.toml"), "rb") as file:
        kernels = tomllib.load(file)["kernel"]
    by_hand = len(kernels)
    kernels += [random_code.kernel(args.first_seed + i) for i in range(args.random)]
    folder = tempfile.mkdtemp(prefix="softgpu counters ")
    code = assemble(kernels, folder)
    if code is None:
        print("skipped: no clang assembles for AMD GPUs")
        return 77
    trace = os.path.join(folder, "trace")
    lines = "".join(f"{kernel['name']} {kernel['items']} {kernel.get('group', 64)}\n" for kernel in kernels)
    found = read_counts(run_program([args.engine, code, trace], lines))
    if args.hsa:
        found = by_hsa(args, code, lines)
    traced, exact = trace_counts.counts(trace), exact_counters()
    failed, seen = 0, set()
    for kernel in kernels:
        counts = found.get(kernel["name"], "was not run")
        wrong = [counts] if isinstance(counts, str) else (
            differences_by_hand(kernel, counts) + differences_from_trace(counts, traced[kernel["name"]], exact))
        for each in wrong:
            print(f"{kernel['name']}: {each}")
        failed += bool(wrong)
        seen |= {key[0] for key in counts} if not wrong else set()
    print(f"{by_hand} kernels by hand, {args.random} random: {failed} wrong; exact counters that counted nothing: "
          f"{' '.join(sorted(exact - seen)) or 'none'}")
    if not args.keep:
        shutil.rmtree(folder)
    else:
        print(f"kept {folder}")
    return 1 if failed or exact - seen else 0


if __name__ == "__main__":
    sys.exit(main())
