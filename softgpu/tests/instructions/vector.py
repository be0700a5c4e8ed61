"""Kernels of one vector instruction each, with the expected result: those of the table (rows.py), packed ones, ones
with carries, and a few special ones."""
import math
from fractions import Fraction

import float_rows
import integer_rows
import modified
import numbers_of_registers as n
from rows import M16, M32, ROWS

# With a carry, or borrow, in and out: (a, b, carry) to the sum.
CARRIES = {"v_add_co_u32": lambda a, b, c: a + b, "v_sub_co_u32": lambda a, b, c: a - b,
           "v_subrev_co_u32": lambda a, b, c: b - a, "v_addc_co_u32": lambda a, b, c: a + b + c,
           "v_subb_co_u32": lambda a, b, c: a - b - c, "v_subbrev_co_u32": lambda a, b, c: b - a - c}
CARRY_IN = 0x0f5a3c96_1e78b4d2


def carry_kernels():
    start = f"s_mov_b32 vcc_lo, {CARRY_IN & M32:#x}\ns_mov_b32 vcc_hi, {CARRY_IN >> 32:#x}\n"
    for name, function in CARRIES.items():
        def check(inputs, found, lane, function=function):
            exact = function(inputs[0], inputs[2], CARRY_IN >> lane & 1)
            got = found["d"] & M32, found["vcc"] >> lane & 1
            return None if got == (exact & M32, exact >> 32 & 1) else f"of {inputs[0]:#x}, {inputs[2]:#x}: {got}"
        end = ", vcc" if name in ("v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32") else ""
        yield name, start + f"{name} v16, vcc, v10, v12{end}", check, ["b64"] * 4

    def chosen(inputs, found, lane):
        return None if found["d"] & M32 == inputs[2 if CARRY_IN >> lane & 1 else 0] else "the other one"
    yield "v_cndmask_b32", start + "v_cndmask_b32 v16, v10, v12, vcc", chosen, ["b64"] * 4


# The sequence that compilers generate for v[10:11] / v[12:13]: a correctly rounded quotient of any
# two numbers.
DIVISIONS = {"f32": """v_div_scale_f32 v20, s[24:25], v12, v12, v10
v_rcp_f32 v21, v20
v_div_scale_f32 v22, vcc, v10, v12, v10
v_fma_f32 v23, -v20, v21, 1.0
v_fmac_f32 v21, v23, v21
v_mul_f32 v23, v22, v21
v_fma_f32 v24, -v20, v23, v22
v_fmac_f32 v23, v24, v21
v_fma_f32 v20, -v20, v23, v22
v_div_fmas_f32 v20, v20, v21, v23
v_div_fixup_f32 v16, v20, v12, v10""", "f64": """v_div_scale_f64 v[20:21], s[24:25], v[12:13], v[12:13], v[10:11]
v_rcp_f64 v[22:23], v[20:21]
v_div_scale_f64 v[24:25], vcc, v[10:11], v[12:13], v[10:11]
v_fma_f64 v[26:27], -v[20:21], v[22:23], 1.0
v_fmac_f64 v[22:23], v[22:23], v[26:27]
v_fma_f64 v[26:27], -v[20:21], v[22:23], 1.0
v_fmac_f64 v[22:23], v[22:23], v[26:27]
v_mul_f64 v[26:27], v[24:25], v[22:23]
v_fma_f64 v[20:21], -v[20:21], v[26:27], v[24:25]
v_div_fmas_f64 v[20:21], v[20:21], v[22:23], v[26:27]
v_div_fixup_f64 v[16:17], v[20:21], v[12:13], v[10:11]"""}


def division_kernels():
    """Numbers of any exponent: most quotients are far out of range."""
    def quotient(a, b, kind):
        exact = 0.0 if a == 0 or b == 0 or not math.isfinite(a) or not math.isfinite(b) else \
            abs(n.rounded(Fraction(a) / Fraction(b), kind))
        return float_rows.fixed_quotient(exact, b, a)

    for kind, code in DIVISIONS.items():
        check = checker(kind, [kind, kind], lambda a, b, kind=kind: quotient(a, b, kind), {})
        for fill in (f"bits{kind[1:]}", kind):
            yield f"v_div_fixup_{kind}", code, check, [fill, fill, "b64", "b64"]


PACKED = []


def add_packed():
    for kind in ("i16", "u16"):
        for name, count, function in (("add", 2, lambda a, b: a + b), ("sub", 2, lambda a, b: a - b),
                                      ("max", 2, max), ("min", 2, min), ("mad", 3, lambda a, b, c: a * b + c)):
            PACKED.append((f"v_pk_{name}_{kind}", kind, count, function))
    PACKED.append(("v_pk_mul_lo_u16", "u16", 2, lambda a, b: a * b))
    PACKED.append(("v_pk_lshlrev_b16", "u16", 2, lambda a, b: b << a % 16))
    PACKED.append(("v_pk_lshrrev_b16", "u16", 2, lambda a, b: b >> a % 16))
    PACKED.append(("v_pk_ashrrev_i16", "i16", 2, lambda a, b: b >> a % 16))
    half = lambda function: lambda a, b: function(a, b)
    PACKED.append(("v_pk_add_f16", "f16", 2, half(lambda a, b: n.fused(a, 1.0, b, "f16") if a else a + b)))
    PACKED.append(("v_pk_mul_f16", "f16", 2, half(lambda a, b: n.rounded(Fraction(a) * Fraction(b), "f16")
                                                  if math.isfinite(a) and math.isfinite(b) and a and b else a * b)))
    PACKED.append(("v_pk_max_f16", "f16", 2, n.most))
    PACKED.append(("v_pk_min_f16", "f16", 2, n.least))
    PACKED.append(("v_pk_fma_f16", "f16", 3, lambda a, b, c: n.fused(a, b, c, "f16")))


integer_rows.add_integers()
integer_rows.add_plain_integers()
float_rows.add_floats()
float_rows.add_functions()
float_rows.add_comparisons()
add_packed()
ROW_OF = {"a": 0, "b": 2, "c": 4}  # of the inputs
PLACE = {"a": 10, "b": 12, "c": 14, "d": 16}


def register(letter, kind):
    first = PLACE[letter]
    return f"v[{first}:{first + 1}]" if n.size_of(kind) == 64 else f"v{first}"


# Halves, an f32, halves.
MIXED = ["pair", "f32", "pair", "b64"]


def row_kernel(name, result, sources, function, more):
    texts = [register(letter, kind) for letter, kind in zip("abc", sources)]
    texts = [sign.format(text) for sign, text in zip(more.get("signs", ["{}"] * 3), texts)]
    if "between" in more:
        texts[1] = more["between"] + texts[1]
    target = "vcc" if result == "mask" else register("d", "u32" if result == "halves" else result)
    code = f"{name} {target}, {more.get('carry', '')}{', '.join(texts)}{more.get('after', '')}"
    into = "b64" if result in ("mask", "halves") or not more.get("into") else result
    return (name.removesuffix("_e64"), code, checker(result, sources, function, more), (sources + ["b64"] * 3)[:3] + [into],
            more.get("fails", False))


def modified_kernels(possible):
    """[as from kernels(), and whether it must be refused]"""
    made = [row_kernel(*each) for each in modified.modified_rows(ROWS, possible)]
    made += [(*each, False) for each in modified.chosen_kernels(ROWS, possible, register)]
    made += modified.packed_kernels(PACKED, possible)
    made += modified.pair_kernels(possible)
    return made + list(modified.mixed_kernels()) + list(modified.dot_kernels()) + \
        list(modified.carry_kernels(CARRIES, CARRY_IN))


def kernels():
    """[(name, code, check, kinds of A, B, C and the destination)]; check applies to one lane."""
    made = [row_kernel(*each)[:4] for each in ROWS]
    for name, kind, count, function in PACKED:
        for low, high, negated in ((0, 7, 0), (5, 2, 3)):
            made.append(packed_kernel(name, kind, count, function, low, high, negated if kind == "f16" else 0))
    made.append(("v_pk_fmac_f16", "v_pk_fmac_f16 v16, v10, v12", packed_checker("f16", 3, PACKED[-1][3], 0, 7, 0, True),
                 ["pair"] * 4))
    for name, shift in (("v_fma_mixlo_f16", 0), ("v_fma_mixhi_f16", 16)):
        made.append((name, f"{name} v16, v10, v12, v14 op_sel:[1,0,0] op_sel_hi:[1,0,1]", mix_checker(shift), MIXED))
    made.append(("v_fma_mix_f32", "v_fma_mix_f32 v16, v10, v12, v14 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
                 mix_checker(None), MIXED))
    return made + other_kernels() + list(carry_kernels()) + list(division_kernels())


def same(found, wanted, kind):
    """Whether bits encode a number; NaN has many encodings."""
    if kind in n.FLOATS and wanted != wanted:
        return n.value_of(found, kind) != n.value_of(found, kind)
    return found & (1 << n.size_of(kind)) - 1 == n.bits_of(wanted, kind)


def is_near(found, wanted, kind, more):
    """Approximations may be off by that many units in the last place, or by `least`."""
    got = n.value_of(found, kind) if "near" in more else n.NAN
    if not math.isfinite(got) or not math.isfinite(wanted):
        return False
    return abs(got - wanted) <= max(more["near"] * abs(wanted) * 2.0 ** (1 - n.FLOATS[kind][0]), more.get("least", 0.0),
                                    2.0 ** (n.FLOATS[kind][1] - n.FLOATS[kind][0] + 1))


def sources_of(inputs, kinds):
    return [n.value_of(inputs[ROW_OF[letter]] | inputs[ROW_OF[letter] + 1] << 32, kind)
            for letter, kind in zip("abc", kinds)]


def checker(result, kinds, function, more):
    def check(inputs, found, lane):
        sources = sources_of(inputs, kinds)
        before = inputs[6] | inputs[7] << 32
        if more.get("into"):
            sources.append(n.value_of(before, result))
        wanted = function(*sources)
        if result == "mask":
            masks = [found["vcc"] >> lane & 1] + ([found["exec"] >> lane & 1] if more.get("exec") else [])
            return None if all(mask == wanted for mask in masks) else f"of {sources}: {masks}, and not {wanted}"
        got = found["d"]
        if result == "halves":
            return None if all(same(got >> s & M16, n.value_of(wanted >> s & M16, "f16"), "f16") for s in (0, 16)) \
                else f"of {sources}: {got:#x}, and not {wanted:#x}"
        size = n.size_of(result)
        above = (before if more.get("keep") else 0) >> 16 & M16 if size == 16 else got >> size & M16
        if (same(got, wanted, result) or is_near(got, wanted, result, more)) and got >> size & M16 == above:
            return None
        return f"of {sources}: {got:#x}, and not {wanted}, {n.bits_of(wanted, result):#x} with {above:#x} above"

    return check


def packed_kernel(name, kind, count, function, low, high, negated):
    bits = lambda word: "[" + ",".join(str(word >> i & 1) for i in range(count)) + "]"
    code = f"{name} v16, {', '.join(['v10', 'v12', 'v14'][:count])} op_sel:{bits(low)} op_sel_hi:{bits(high)}"
    if negated:
        code += f" neg_lo:{bits(negated)} neg_hi:{bits(negated >> 1)}"
    return (name, code, packed_checker(kind, count, function, low, high, negated),
            ["pair" if kind == "f16" else "b32"] * 3 + ["b64"])


def packed_checker(kind, count, function, low, high, negated, into=False):
    def check(inputs, found, lane):
        words = [inputs[0], inputs[2], inputs[6] if into else inputs[4]][:count]
        for upper, selected, flips in ((0, low, negated), (1, high, negated >> 1)):
            values = [n.value_of(word >> (16 if selected >> i & 1 else 0), kind) for i, word in enumerate(words)]
            values = [-value if flips >> i & 1 else value for i, value in enumerate(values)]
            got, wanted = found["d"] >> 16 * upper & M16, function(*values)
            if not same(got, wanted, kind):
                return f"of {values}, half {upper}: {got:#x}, and not {wanted}"
        return None

    return check


def mix_checker(shift):
    """The upper half of the first source, an f32, the lower half of the third; an f32 that may be rounded to f16."""
    def check(inputs, found, lane):
        a, b, c = n.value_of(inputs[0] >> 16, "f16"), n.value_of(inputs[2], "f32"), n.value_of(inputs[4], "f16")
        single = n.fused(a, b, c, "f32")
        if shift is None:
            return None if same(found["d"], single, "f32") else f"of {a}, {b}, {c}: {found['d']:#x}"
        wanted, got = n.rounded(single, "f16"), found["d"]
        kept = (got ^ inputs[6]) & M16 << (16 - shift)
        if same(got >> shift & M16, wanted, "f16") and kept == 0:
            return None
        return f"of {a}, {b}, {c}: {got:#x}, and not {wanted} in {inputs[6]:#x}"

    return check


def other_kernels():
    unchanged = lambda inputs, found, lane: None if found["d"] == inputs[6] | inputs[7] << 32 else "it did something"
    took = lambda row: lambda inputs, found, lane: None if found["d"] & M32 == inputs[row] else "not what it should be"
    return [(name, code, check, ["b64"] * 4) for name, code, check in (
        ("v_nop", "v_nop", unchanged),
        ("v_clrexcp", "v_clrexcp", unchanged),
        ("v_swap_b32", "v_swap_b32 v16, v10", took(0)),
        ("v_swap_b32", "v_swap_b32 v10, v16\nv_mov_b32 v16, v10", took(6)),
        ("v_accvgpr_mov_b32", "v_accvgpr_write_b32 a3, v12\nv_accvgpr_mov_b32 a5, a3\nv_accvgpr_read_b32 v16, a5",
         took(2)))]
