#!/usr/bin/python3
"""Compares single instructions in assembly, on the software GPU's machine-code engine, with their definitions, which
Python computes here with integers and fractions.

    instructions_test.py --engine build/tests/softgpu/run_instructions [--only NAME] [--keep]

Exit status: 0 all are right, 1 some are wrong, 77 there is no clang that assembles for AMD GPUs."""
import argparse
import array
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, folder) for folder in ("../counters", "..")]
import count_test  # noqa: E402
import isa_pairs  # noqa: E402
import matrix  # noqa: E402
import memory  # noqa: E402
import modes  # noqa: E402
import numbers_of_registers as numbers  # noqa: E402
import scalar  # noqa: E402
import vector  # noqa: E402

ROUNDS, LANES, ROWS, RESULTS = 4, 64, 8, 12
INPUT_BYTES = ROUNDS * ROWS * LANES * 4
BYTES = 1 << 17  # of each kernel: inputs, followed by its outputs
assert INPUT_BYTES + ROUNDS * LANES * RESULTS * 4 <= BYTES

# Inputs: rows of the sources A, B, C and of the previous destination, two dwords each, for 64
# lanes. A scalar kernel handles each lane's numbers in a group of its own.
VECTOR_START = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 2, v0
s_waitcnt lgkmcnt(0)
s_mul_i32 s8, s2, {row_bytes}
s_add_u32 s6, s4, s8
s_addc_u32 s7, s5, 0
""" + "".join(f"global_load_dword v{10 + row}, v1, s[6:7] offset:{row * LANES * 4}\n" for row in range(ROWS)) + """
s_waitcnt vmcnt(0)
s_mov_b64 vcc, 0
"""
SCALAR_START = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
s_waitcnt lgkmcnt(0)
s_lshr_b32 s8, s2, 6
s_mul_i32 s8, s8, {row_bytes}
s_and_b32 s9, s2, 63
s_lshl_b32 s9, s9, 2
s_add_u32 s8, s8, s9
s_add_u32 s6, s4, s8
s_addc_u32 s7, s5, 0
""" + "".join(f"s_load_dword s{register}, s[6:7], {row * LANES * 4:#x}\n"
              for row, register in enumerate((20, 21, 22, 23, 24, 25, 26, 27))) + """
s_waitcnt lgkmcnt(0)
s_and_b32 s9, s26, 1
"""
END = """
s_cselect_b32 s40, 1, 0
s_mov_b64 s[42:43], exec
s_mov_b64 exec, -1
s_mul_i32 s8, s2, {result_bytes}
s_add_u32 s8, s8, {input_bytes}
s_add_u32 s6, s4, s8
s_addc_u32 s7, s5, 0
v_mul_u32_u24 v2, {lane_bytes}, v0
global_store_dwordx4 v2, v[16:19], s[6:7]
v_mov_b32 v20, s40
v_mov_b32 v21, vcc_lo
v_mov_b32 v22, vcc_hi
v_mov_b32 v23, s24
global_store_dwordx4 v2, v[20:23], s[6:7] offset:16
v_mov_b32 v20, s25
v_mov_b32 v21, s42
v_mov_b32 v22, s43
v_mov_b32 v23, m0
global_store_dwordx4 v2, v[20:23], s[6:7] offset:32
"""


def wrapped(kind, code):
    if kind == "whole":
        return code
    start = (VECTOR_START if kind == "vector" else SCALAR_START).format(row_bytes=ROWS * LANES * 4)
    lane = RESULTS * 4
    # For a scalar kernel, one lane's results are enough.
    end = END.format(result_bytes=lane * (LANES if kind == "vector" else 1), input_bytes=INPUT_BYTES, lane_bytes=lane)
    if kind == "scalar":
        end = end.replace("s_mov_b64 exec, -1", "s_mov_b64 exec, 1")
    return start + code + end


def number(rng, kind):
    """The bits of a number that may be special: for the kinds bits32 and bits64 floats of any exponent, for s32 and
    the like often NaN, infinite, denormal or zero."""
    if kind[0] == "s":
        size = int(kind[1:])
        top, mantissa = {16: (31, 10), 32: (255, 23), 64: (2047, 52)}[size]
        exponent = rng.choice([0, 0, top, 1, rng.randrange(top)])
        fraction = rng.choice([0, rng.getrandbits(mantissa), 1, 1 << mantissa - 1])
        return rng.getrandbits(1) << size - 1 | exponent << mantissa | fraction
    if kind.startswith("bits"):
        bits = rng.getrandbits(int(kind[4:]))
        return bits if math.isfinite(numbers.value_of(bits, f"f{kind[4:]}")) else 1
    size = numbers.size_of(kind)
    if kind not in numbers.FLOATS:
        return rng.choice([rng.getrandbits(size), rng.getrandbits(size), rng.randrange(70), (1 << size) - 1,
                           1 << size - 1, (1 << size - 1) - 1, 0, 1 << rng.randrange(size), -rng.randrange(70)]) \
            & (1 << size) - 1
    if rng.random() < 0.25:
        _, least, _, _ = numbers.FLOATS[kind]
        return numbers.bits_of(rng.choice([0.0, -0.0, numbers.INFINITY, -numbers.INFINITY, numbers.NAN, 1.0, -1.0, 0.5,
                                           2.0 ** least, 3 * 2.0 ** (least - 5), -2.5, 255.5, 2.0 ** (1 - least)]), kind)
    span = 6 if kind == "f16" else 36
    return numbers.bits_of(numbers.rounded(rng.uniform(-2, 2) * 2.0 ** rng.uniform(-span, span), kind), kind)


def inputs_of(name, kinds):
    rng = random.Random(name)
    made = array.array("I", bytes(INPUT_BYTES))
    for round_ in range(ROUNDS):
        for lane in range(LANES):
            for source, kind in enumerate(kinds):
                bits = number(rng, kind) if kind != "pair" else number(rng, "f16") | number(rng, "f16") << 16
                size = 32 if kind == "pair" else int(kind[4:]) if kind.startswith("bits") else numbers.size_of(kind)
                if size < 64:
                    bits |= rng.getrandbits(64 - size) << size  # the other bits do not matter
                for half in range(2):
                    made[(round_ * ROWS + 2 * source + half) * LANES + lane] = bits >> 32 * half & 0xffffffff
    return made


def kinds_of(kernel):
    """Kinds of A, B, C and of the destination."""
    return kernel.get("kinds") or ["b64"] * 4


def collect():
    made = []
    for name, code, check in scalar.kernels():
        made.append({"instruction": name, "kind": "scalar", "code": code, "check": check})
    for name, code, check, kinds in vector.kernels() + modes.kernels():
        made.append({"instruction": name, "kind": "vector", "code": code, "check": check, "kinds": kinds})
    possible = isa_pairs.possible("gfx90a")  # needs only LLVM's disassembler
    for name, code, check, kinds, fails in vector.modified_kernels(possible) if possible else ():
        made.append({"instruction": name, "kind": "vector", "code": code, "kinds": kinds, "check": check,
                     **({"fails": "is unknown"} if fails else {})})
    for module in (memory, matrix):
        for kernel in module.kernels():
            made.append({"kind": "whole", **kernel})
    for i, kernel in enumerate(made):
        kernel["name"] = f"k{i}"
    return made


def read_results(words, at):
    r = words[at:at + RESULTS]
    return {"d": r[0] | r[1] << 32, "d2": r[2] | r[3] << 32, "scc": r[4], "vcc": r[5] | r[6] << 32,
            "s": r[7] | r[8] << 32, "exec": r[9] | r[10] << 32, "m0": r[11]}


def wrong_of(kernel, before, after):
    """The first thing that is wrong, or None."""
    if "fails" in kernel and kernel["kind"] != "whole":
        return None
    if kernel["kind"] == "whole":
        return kernel["check"](before, after)
    for round_ in range(ROUNDS):
        for lane in range(LANES):
            inputs = [before[(round_ * ROWS + row) * LANES + lane] for row in range(ROWS)]
            found = read_results(after, INPUT_BYTES // 4 + (round_ * LANES + lane) * RESULTS)
            if kernel["kind"] == "scalar":
                found["d"] = found["s"]
                wrong = kernel["check"](inputs, found)
            else:
                wrong = kernel["check"](inputs, found, lane)
            if wrong:
                return wrong
    return None


def failure_of(kernel, text):
    """What is wrong with the exit status; some must fail."""
    wanted = kernel.get("fails")
    if wanted is None:
        return text
    return None if text and wanted in text else f"ended so: {text}, and not with '{wanted}'"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True, help="run_instructions")
    parser.add_argument("--only", help="the instructions whose name begins so")
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    kernels = [kernel for kernel in collect() if kernel["instruction"].startswith(args.only or "")]
    folder = tempfile.mkdtemp(prefix="softgpu instructions ")
    code = count_test.assemble([{"name": kernel["name"], "code": wrapped(kernel["kind"], kernel["code"])}
                                for kernel in kernels], folder)
    if code is None:
        print("skipped: no clang assembles for AMD GPUs")
        return 77
    blocks = []
    for kernel in kernels:
        given = kernel.get("inputs") or inputs_of(kernel["name"], kinds_of(kernel))
        blocks.append(array.array("I", given) + array.array("I", bytes(BYTES - 4 * len(given))))
    paths = [os.path.join(folder, name) for name in ("inputs", "outputs")]
    with open(paths[0], "wb") as file:
        for block in blocks:
            block.tofile(file)
    groups = {"vector": ROUNDS, "scalar": ROUNDS * LANES}
    ran = subprocess.run([args.engine, code, *paths, str(BYTES)], text=True, stdout=subprocess.PIPE, timeout=600,
                         input="".join(f"{kernel['name']} {groups.get(kernel['kind'], 1)}\n" for kernel in kernels))
    failures = dict(line.split(": ", 1) for line in ran.stdout.splitlines())
    wrong = 0
    with open(paths[1], "rb") as file:
        for kernel, before in zip(kernels, blocks):
            after = array.array("I", file.read(BYTES))
            found = failure_of(kernel, failures.get(kernel["name"])) or wrong_of(kernel, before, after)
            if found:
                wrong += 1
                print(f"{kernel['instruction']}: {found}\n  {kernel['code'].strip().splitlines()[-1]}")
    instructions = {kernel["instruction"] for kernel in kernels}
    print(f"{len(kernels)} kernels of {len(instructions)} instructions: {wrong} wrong")
    if args.keep:
        print(f"kept {folder}")
    else:
        shutil.rmtree(folder)
    return 1 if wrong or ran.returncode != 0 or not kernels else 0


if __name__ == "__main__":
    sys.exit(main())
