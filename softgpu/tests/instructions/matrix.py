"""Compares matrix products of every shape of gfx90a with plain matrix products. The places of the elements are from
AMD's guide to the CDNA 2 instruction set: lane and register of A's (row, k), B's (k, column) and D's (row, column) of
each block."""
import itertools
import random
from fractions import Fraction

import numbers_of_registers as n

A, B, C, OUT = 0, 512, 1024, 16384  # bytes; A and B have two dwords per lane, C and D rows of 64
LANES = 64
# Rows (and columns), depth, blocks; and for A and B: kind, and elements per lane.
SHAPES = {"32x32x1f32": (32, 1, 2, "f32", 1), "16x16x1f32": (16, 1, 4, "f32", 1), "4x4x1f32": (4, 1, 16, "f32", 1),
          "32x32x2f32": (32, 2, 1, "f32", 1), "16x16x4f32": (16, 4, 1, "f32", 1),
          "32x32x4f16": (32, 4, 2, "f16", 4), "16x16x4f16": (16, 4, 4, "f16", 4), "4x4x4f16": (4, 4, 16, "f16", 4),
          "32x32x8f16": (32, 8, 1, "f16", 4), "16x16x16f16": (16, 16, 1, "f16", 4),
          "32x32x2bf16": (32, 2, 2, "bf16", 2), "16x16x2bf16": (16, 2, 4, "bf16", 2), "4x4x2bf16": (4, 2, 16, "bf16", 2),
          "32x32x4bf16": (32, 4, 1, "bf16", 2), "16x16x8bf16": (16, 8, 1, "bf16", 2),
          "32x32x4bf16_1k": (32, 4, 2, "bf16", 4), "16x16x4bf16_1k": (16, 4, 4, "bf16", 4),
          "4x4x4bf16_1k": (4, 4, 16, "bf16", 4), "32x32x8bf16_1k": (32, 8, 1, "bf16", 4),
          "16x16x16bf16_1k": (16, 16, 1, "bf16", 4),
          "32x32x4i8": (32, 4, 2, "i8", 4), "16x16x4i8": (16, 4, 4, "i8", 4), "4x4x4i8": (4, 4, 16, "i8", 4),
          "32x32x8i8": (32, 8, 1, "i8", 4), "16x16x16i8": (16, 16, 1, "i8", 4),
          "16x16x4f64": (16, 4, 1, "f64", 1), "4x4x4f64": (4, 4, 4, "f64", 1)}


def place_of_factor(shape, block, row, k):
    """Lane, and element in the lane, of A's (row, k), or B's (k, row)."""
    size, _, blocks, kind, elements = shape
    if kind == "f64":
        return row + size * block + 16 * k, 0
    return row + size * block + size * blocks * (k // elements), k % elements


def place_of_sum(shape, block, row, column):
    """Lane and register of D's and C's (row, column)."""
    size, _, _, kind, _ = shape
    if kind == "f64":
        return (column + 4 * block + 16 * row, 0) if size == 4 else (column + 16 * (row % 4), row // 4)
    if size == 4:
        return column + 4 * block, row
    if size == 16:
        return column + 16 * (row // 4), 4 * block + row % 4
    return column + 32 * (row // 4 % 2), 16 * block + 4 * (row // 8) + row % 4


def element_bits(kind):
    return {"bf16": 16}.get(kind) or n.size_of(kind)


def encode(value, kind):
    return n.bits_of(value, "f32") >> 16 if kind == "bf16" else n.bits_of(value if kind == "i8" else float(value), kind)


def decode(bits, kind):
    return n.value_of(bits << 16, "f32") if kind == "bf16" else n.value_of(bits, kind)


def of_sum(kind):
    return {"i8": "i32", "f64": "f64"}.get(kind, "f32")


def small_integer(rng, kind):
    return rng.randrange(-128, 128) if kind == "i8" else rng.randrange(-8, 9)


def any_number(rng, kind):
    value = rng.uniform(-2, 2) * 2.0 ** rng.randrange(-6, 7)
    return n.value_of(n.bits_of(n.rounded(value, "f32"), "f32") & 0xffff0000, "f32") if kind == "bf16" else n.rounded(value, kind)


def inputs_of(shape, number, rng):
    size, _, blocks, kind, elements = shape
    memory = [0] * ((C + 32 * LANES * 4) // 4)
    for matrix in (A, B):
        for lane in range(LANES):
            bits = sum(encode(number(rng, kind), kind) << element_bits(kind) * i for i in range(elements))
            for half in range(2):
                memory[matrix // 4 + 2 * lane + half] = bits >> 32 * half & 0xffffffff
    sums = of_sum(kind)
    wide = n.size_of(sums) // 32
    for register in range(size * size * blocks // LANES):
        for lane in range(LANES):
            value = number(rng, kind)
            bits = n.bits_of(int(value) if sums == "i32" else float(value), sums)
            for half in range(wide):
                memory[C // 4 + (register * wide + half) * LANES + lane] = bits >> 32 * half & 0xffffffff
    return memory


def moved(lane, pattern):
    """The lane that B's element comes from (BLGP)."""
    if pattern < 4:
        return [lane, lane % 32, lane % 32 + 32, (lane + 16) % 64][pattern]
    return lane % 16 + 16 * (pattern - 4)


def checker(shape, is_exact, has_sum, cbsz, abid, blgp):
    size, depth, blocks, kind, _ = shape
    sums = of_sum(kind)
    wide = n.size_of(sums) // 32
    signs = [-1 if kind == "f64" and blgp >> i & 1 else 1 for i in range(3)]

    def factor(memory, matrix, place, pattern=0):
        lane, number = place
        at = matrix // 4 + 2 * moved(lane, pattern)
        return decode((memory[at] | memory[at + 1] << 32) >> element_bits(kind) * number, kind)

    def sum_at(memory, base, place):
        lane, register = place
        at = base // 4 + register * wide * LANES + lane
        return n.value_of(memory[at] | (memory[at + LANES] << 32 if wide == 2 else 0), sums)

    whole = int if is_exact else Fraction  # exact values are integers

    def check(before, after):
        left, right = {}, {}
        for block in range(blocks):
            for i in range(size):
                for k in range(depth):
                    place = place_of_factor(shape, block, i, k)
                    left[block, i, k] = signs[0] * whole(factor(before, A, place))
                    right[block, i, k] = signs[1] * whole(factor(before, B, place, 0 if kind == "f64" else blgp))
        group = (1 << cbsz) - 1
        for block, row, column in itertools.product(range(blocks), range(size), range(size)):
            from_block = block & ~group | abid & group
            place = place_of_sum(shape, block, row, column)
            start = signs[2] * whole(sum_at(before, C, place)) if has_sum else 0
            products = [left[from_block, row, k] * right[block, column, k] for k in range(depth)]
            exact, got = sum(products, start), sum_at(after, OUT, place)
            allowed = 0 if is_exact else \
                sum(map(abs, products), abs(start)) * depth * Fraction(2) ** -(n.FLOATS[sums][0] - 1)
            if sums == "i32":
                exact = n.value_of(exact & 0xffffffff, "i32")
            if abs((got if is_exact else Fraction(got)) - exact) > allowed:
                return f"block {block}, ({row}, {column}): {got}, and not {float(exact)}"
        return None

    return check


def code_of(name, shape, bank, has_sum, modifiers):
    """`bank`: v or a, where C and D are."""
    size, _, blocks, kind, elements = shape
    registers = size * size * blocks // LANES * (2 if kind == "f64" else 1)
    factor = 2 if elements * element_bits(kind) == 64 else 1
    text = lambda first, count, kind_="v": f"{kind_}[{first}:{first + count - 1}]" if count > 1 else f"{kind_}{first}"
    sums = text(16 if bank == "v" else 0, registers, bank)
    lines = ["s_load_dwordx2 s[4:5], s[0:1], 0x0", "v_lshlrev_b32 v8, 3, v0", "v_lshlrev_b32 v9, 2, v0",
             "s_waitcnt lgkmcnt(0)", f"global_load_dwordx2 v[10:11], v8, s[4:5] offset:{A}",
             f"global_load_dwordx2 v[12:13], v8, s[4:5] offset:{B}"]
    for i in range(registers):
        lines += [f"v_add_u32 v8, {C + 256 * i}, v9", f"global_load_dword v{16 + i}, v8, s[4:5]"]
    lines.append("s_waitcnt vmcnt(0)")
    if bank == "a":
        lines += [f"v_accvgpr_write_b32 a{i}, v{16 + i}" for i in range(registers)]
    # Only one lane is in EXEC, but all take part.
    lines += ["s_mov_b64 exec, 1", f"{name} {sums}, {text(10, factor)}, {text(12, factor)}, "
              f"{sums if has_sum else 0}{modifiers}", "s_nop 15", "s_nop 15", "s_mov_b64 exec, -1"]
    if bank == "a":
        lines += [f"v_accvgpr_read_b32 v{16 + i}, a{i}" for i in range(registers)]
    for i in range(registers):
        lines += [f"v_add_u32 v8, {OUT + 256 * i}, v9", f"global_store_dword v8, v{16 + i}, s[4:5]"]
    return "\n".join(lines) + "\n"


def variants(shape):
    """(bank of C and D, whether C is one, cbsz, abid, blgp)."""
    _, _, blocks, kind, _ = shape
    made = [("v", True, 0, 0, 0), ("a", True, 0, 0, 0), ("a", False, 0, 0, 0)]
    if kind == "f64":
        return made + [("v", True, 0, 0, blgp) for blgp in (1, 2, 4, 7)]
    cbsz = 1
    while 1 << cbsz <= blocks:
        made.append(("v", True, cbsz, (1 << cbsz) - 1 - cbsz // 2, 0))
        cbsz += 1
    return made + [("v", True, 0, 0, blgp) for blgp in range(1, 8)]


def kernels():
    made = []
    for name, shape in SHAPES.items():
        name = f"v_mfma_{of_sum(shape[3])}_{name}"
        for i, (bank, has_sum, cbsz, abid, blgp) in enumerate(variants(shape)):
            modifiers = (f" cbsz:{cbsz}" if cbsz else "") + (f" abid:{abid}" if abid else "")
            if blgp:
                modifiers += f" blgp:{blgp}"
            for is_exact in (True, False):
                if not is_exact and (shape[3] == "i8" or i > 0):
                    continue
                rng = random.Random(f"{name} {i} {is_exact}")
                made.append({"instruction": name, "code": code_of(name, shape, bank, has_sum, modifiers),
                             "inputs": inputs_of(shape, small_integer if is_exact else any_number, rng),
                             "check": checker(shape, is_exact, has_sum, cbsz, abid, blgp)})
    return made
