"""Instructions on floating point numbers, and comparisons (rows.py)."""
import math
from fractions import Fraction

import numbers_of_registers as n
from rows import M16, M32, ROWS, nearest, row, two


def normalised(value, most, low):
    return 0 if value != value else nearest(n.rounded(Fraction(n.clamped(value, low, 1)) * most, "f32"))


def byte_of(value):
    return 0 if value != value or value <= 0 else 255 if value >= 255 else nearest(value)


def insert_byte(value, place, into):
    shift = 8 * (place & 3)
    return into & ~(255 << shift) | byte_of(value) << shift


def half_cut(value):
    if math.isnan(value):
        return 0x7e00
    return n.bits_of(n.rounded(value, "f16", cut=True), "f16")


def legacy(function):
    return lambda a, b, *c: 0.0 + (c[0] if c else 0.0) if a == 0 or b == 0 else function(a, b, *c)


def product(a, b):
    return n.rounded(Fraction(a) * Fraction(b), "f32") if math.isfinite(a) and math.isfinite(b) and a and b else a * b


def fixed_quotient(quotient, divisor, dividend):
    """The result of a division whose operands may be special."""
    sign = math.copysign(1, divisor) * math.copysign(1, dividend)
    if divisor != divisor or dividend != dividend:
        return n.NAN
    if (divisor == 0 and dividend == 0) or (math.isinf(divisor) and math.isinf(dividend)):
        return n.NAN
    if divisor == 0 or math.isinf(dividend):
        return sign * n.INFINITY
    if math.isinf(divisor) or dividend == 0:
        return sign * 0.0
    return math.copysign(quotient, sign)


def arctangent_of_inverse(x, one):
    total, power, k = 0, one // x, 0
    while power:
        total += (-1) ** k * (power // (2 * k + 1))
        power //= x * x
        k += 1
    return total


def two_over_pi(bits):
    one = 1 << bits + 64
    pi = 4 * (4 * arctangent_of_inverse(5, one) - arctangent_of_inverse(239, one))  # Machin, 1706
    return (2 * one << bits) // pi


TWO_OVER_PI = two_over_pi(1201)


def trig_preop(value, segment):
    """53 bits of 2 / pi, as used to reduce large arguments."""
    exponent = n.bits_of(value, "f64") >> 52 & 0x7ff
    shift = (segment & 31) * 53 + max(0, exponent - 1077)
    bits = (TWO_OVER_PI << shift) >> 1148 & (1 << 53) - 1
    scale = -53 - shift + (128 if exponent >= 1968 else 0)
    return n.rounded(Fraction(bits) * Fraction(2) ** scale, "f64")


def converted(kind, low, high):
    return lambda a: 0 if a != a else n.clamped(int(n.clamped(a, low - 1, high + 1)), low, high)


def classes(value, kind):
    bits = n.bits_of(value, kind)
    if value != value:
        return 2
    if math.isinf(value):
        index = 9
    elif value == 0:
        index = 6
    else:
        index = 8 if abs(value) >= 2.0 ** n.FLOATS[kind][1] else 7
    negative = bits >> n.size_of(kind) - 1
    return 1 << ({9: 2, 8: 3, 7: 4, 6: 5}[index] if negative else index)


def add_floats():
    for kind in ("f32", "f16"):
        kept = {"keep": True} if kind == "f16" else {}
        row(f"v_max3_{kind}", " ".join([kind] * 4), n.most, **kept)
        row(f"v_min3_{kind}", " ".join([kind] * 4), n.least, **kept)
        row(f"v_med3_{kind}", " ".join([kind] * 4), n.middle, **kept)
        row(f"v_mad_{kind}", " ".join([kind] * 4), lambda a, b, c, k=kind: n.apart(a, b, c, k), **kept)
        row(f"v_fma_{kind}", " ".join([kind] * 4), lambda a, b, c, k=kind: n.fused(a, b, c, k), **kept)
        row(f"v_mac_{kind}", " ".join([kind] * 3), lambda a, b, c, k=kind: n.apart(a, b, c, k), into=True, **kept)
        constant = n.value_of(0x4123 if kind == "f16" else 0x40490fdb, kind)
        text = "0x4123" if kind == "f16" else "0x40490fdb"
        row(f"v_madmk_{kind}", " ".join([kind] * 3), lambda a, b, k=kind, c=constant: n.apart(a, c, b, k),
            between=f"{text}, ", **kept)
        row(f"v_madak_{kind}", " ".join([kind] * 3), lambda a, b, k=kind, c=constant: n.apart(a, b, c, k),
            after=f", {text}", **kept)
    for kind in ("f16", "f32", "f64"):
        row(f"v_max_{kind}", " ".join([kind] * 3), n.most)
        row(f"v_min_{kind}", " ".join([kind] * 3), n.least)
        row(f"v_max_{kind}" + ("_e64" if kind != "f64" else ""), " ".join([kind] * 3),
            lambda a, b: min(n.most(a, b), 1.0) if n.most(a, b) > 0 else 0.0, after=" clamp")
        row(f"v_fma_{kind}", " ".join([kind] * 4), lambda a, b, c, k=kind: n.fused(-a, abs(b), c, k),
            signs=("-{}", "|{}|", "{}"), **({"keep": True} if kind == "f16" else {}))
        row(f"v_cmp_class_{kind}", f"mask {kind} u32", lambda a, b, k=kind: (b >> 0) & classes(a, k) & 0x3fe != 0)
    for name in ("v_mad_legacy_f16",):
        row(name, "f16 f16 f16 f16", lambda a, b, c: n.apart(a, b, c, "f16"))
    row("v_fma_legacy_f16", "f16 f16 f16 f16", lambda a, b, c: n.fused(a, b, c, "f16"))
    row("v_div_fixup_f16", "f16 f16 f16 f16", fixed_quotient, keep=True)
    row("v_div_fixup_legacy_f16", "f16 f16 f16 f16", fixed_quotient)
    row("v_mul_legacy_f32", "f32 f32 f32", legacy(product))
    row("v_mad_legacy_f32", "f32 f32 f32 f32", legacy(lambda a, b, c: n.apart(a, b, c, "f32")))
    row("v_trig_preop_f64", "f64 f64 u32", trig_preop)
    row("v_cvt_pk_u8_f32", "u32 f32 u32 u32", insert_byte)
    row("v_cvt_pkaccum_u8_f32", "u32 f32 u32", insert_byte, into=True)
    row("v_cvt_pkrtz_f16_f32", "halves f32 f32", lambda a, b: half_cut(a) | half_cut(b) << 16)
    for kind in ("f16", "f32"):
        row(f"v_cvt_pknorm_i16_{kind}", f"u32 {kind} {kind}",
            lambda a, b: two(normalised(a, 32767, -1), normalised(b, 32767, -1)))
        row(f"v_cvt_pknorm_u16_{kind}", f"u32 {kind} {kind}",
            lambda a, b: two(normalised(a, 65535, 0), normalised(b, 65535, 0)))
    for name, kinds, low, high in (
            ("v_cvt_u32_f32", "u32 f32", 0, M32), ("v_cvt_i32_f32", "i32 f32", -1 << 31, (1 << 31) - 1),
            ("v_cvt_u32_f64", "u32 f64", 0, M32), ("v_cvt_i32_f64", "i32 f64", -1 << 31, (1 << 31) - 1),
            ("v_cvt_u16_f16", "u16 f16", 0, M16), ("v_cvt_i16_f16", "i16 f16", -32768, 32767)):
        row(name, kinds, converted(kinds, low, high))
    for name, kinds in (("v_cvt_f32_u32", "f32 u32"), ("v_cvt_f32_i32", "f32 i32"), ("v_cvt_f64_u32", "f64 u32"),
                        ("v_cvt_f64_i32", "f64 i32"), ("v_cvt_f16_u16", "f16 u16"), ("v_cvt_f16_i16", "f16 i16"),
                        ("v_cvt_f16_f32", "f16 f32"), ("v_cvt_f32_f16", "f32 f16"), ("v_cvt_f32_f64", "f32 f64"),
                        ("v_cvt_f64_f32", "f64 f32")):
        row(name, kinds, lambda a, k=kinds[:3]: n.rounded(float(a), k))
    for kind in ("f16", "f32", "f64"):
        whole = lambda function: lambda a: a if not math.isfinite(a) or a == 0 else math.copysign(float(function(a)), a)
        row(f"v_floor_{kind}", f"{kind} {kind}", whole(math.floor))
        row(f"v_ceil_{kind}", f"{kind} {kind}", whole(math.ceil))
        row(f"v_trunc_{kind}", f"{kind} {kind}", whole(math.trunc))
        row(f"v_rndne_{kind}", f"{kind} {kind}", whole(nearest))
    for relation, function in (("lt", lambda a, b: a < b), ("eq", lambda a, b: a == b), ("le", lambda a, b: a <= b),
                               ("gt", lambda a, b: a > b), ("ge", lambda a, b: a >= b),
                               ("lg", lambda a, b: a < b or a > b), ("o", lambda a, b: a == a and b == b),
                               ("u", lambda a, b: a != a or b != b), ("nge", lambda a, b: not a >= b),
                               ("nlg", lambda a, b: not (a < b or a > b)), ("ngt", lambda a, b: not a > b),
                               ("nle", lambda a, b: not a <= b), ("neq", lambda a, b: a != b),
                               ("nlt", lambda a, b: not a < b)):
        for kind in ("f16", "f32", "f64"):
            row(f"v_cmp_{relation}_{kind}", f"mask {kind} {kind}", function)
    for relation, function in (("lt", lambda a, b: a < b), ("eq", lambda a, b: a == b), ("le", lambda a, b: a <= b),
                               ("gt", lambda a, b: a > b), ("ne", lambda a, b: a != b), ("ge", lambda a, b: a >= b)):
        for kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
            row(f"v_cmp_{relation}_{kind}", f"mask {kind} {kind}", function)


def size_in_range(value):
    """A float as a fraction, or None if it is not finite."""
    return Fraction(value) if math.isfinite(value) else None


def fraction_of(value, kind):
    exact = size_in_range(value)
    if exact is None:
        return n.NAN
    most = 1 - Fraction(2) ** -n.FLOATS[kind][0]
    return n.rounded(min(exact - math.floor(exact), most), kind)


def scaled(value, power, kind):
    if not math.isfinite(value) or value == 0:
        return value
    made = n.rounded(Fraction(value) * Fraction(2) ** n.clamped(power, -3000, 3000), kind)
    return math.copysign(made, value)


def of_positive(function):
    """For roots and logarithms: NaN below zero."""
    return lambda a: n.NAN if not a >= 0 else function(a)


def inverse(value, kind):
    if value == 0 or math.isinf(value):
        return math.copysign(n.INFINITY if value == 0 else 0.0, value)
    return n.rounded(1 / Fraction(value), kind) if value == value else value


def power_of_two(value):
    return n.NAN if value != value else 2.0 ** n.clamped(value, -2000, 1023) if value < 1023 else n.INFINITY


def of_turns(function):
    """For sine and cosine of an angle in turns."""
    def turned(value):
        exact = size_in_range(value)
        return n.NAN if exact is None else function(2 * math.pi * float(exact - math.floor(exact)))
    return turned


def add_functions():
    for kind in ("f16", "f32", "f64"):
        one = f"{kind} {kind}"
        into = lambda function, k=kind: lambda *a: n.rounded(function(*a), k)
        row(f"v_rcp_{kind}", one, lambda a, k=kind: inverse(a, k))
        row(f"v_sqrt_{kind}", one, into(lambda a: a if a == 0 else of_positive(
            lambda b: b if math.isinf(b) else math.sqrt(b))(a)))
        row(f"v_rsq_{kind}", one, into(lambda a: math.copysign(n.INFINITY, a) if a == 0 else of_positive(
            lambda b: 0.0 if math.isinf(b) else 1 / math.sqrt(b))(a)), near=2 if kind == "f64" else 1)
        row(f"v_fract_{kind}", one, lambda a, k=kind: fraction_of(a, k))
        row(f"v_frexp_mant_{kind}", one, lambda a: math.frexp(a)[0] if math.isfinite(a) else a)
        row(f"v_ldexp_{kind}", f"{kind} {kind} {'i16' if kind == 'f16' else 'i32'}",
            lambda a, b, k=kind: scaled(a, b, k))
        row(f"v_frexp_exp_{'i16' if kind == 'f16' else 'i32'}_{kind}", f"{'i16' if kind == 'f16' else 'i32'} {kind}",
            lambda a: math.frexp(a)[1] if math.isfinite(a) else 0)
        for name, function in (("add", lambda a, b: (a, b, 1)), ("sub", lambda a, b: (a, b, -1)),
                               ("subrev", lambda a, b: (b, a, -1))):
            if kind == "f64" and name != "add":
                continue
            row(f"v_{name}_{kind}", f"{kind} {kind} {kind}", lambda a, b, k=kind, f=function: sum_of(*f(a, b), k))
        row(f"v_mul_{kind}", f"{kind} {kind} {kind}", lambda a, b, k=kind: n.rounded(Fraction(a) * Fraction(b), k)
            if math.isfinite(a) and math.isfinite(b) and a and b else a * b)
    for kind in ("f16", "f32"):
        row(f"v_exp_{kind}", f"{kind} {kind}", lambda a, k=kind: n.rounded(power_of_two(a), k), near=1)
        row(f"v_log_{kind}", f"{kind} {kind}", lambda a, k=kind: -n.INFINITY if a == 0 else n.rounded(
            of_positive(lambda b: b if math.isinf(b) else math.log2(b))(a), k), near=1)
        row(f"v_sin_{kind}", f"{kind} {kind}", of_turns(math.sin), near=1, least=2.0 ** -40)
        row(f"v_cos_{kind}", f"{kind} {kind}", of_turns(math.cos), near=1, least=2.0 ** -40)
    row("v_rcp_iflag_f32", "f32 f32", lambda a: inverse(a, "f32"))
    row("v_cvt_rpi_i32_f32", "i32 f32", lambda a: a if a != a else to_integer(a, Fraction(1, 2)))
    row("v_cvt_flr_i32_f32", "i32 f32", lambda a: a if a != a else to_integer(a, 0))
    ROWS[-2:] = [(each[0], each[1], each[2], lambda a, f=each[3]: 0 if a != a else f(a), each[4]) for each in ROWS[-2:]]
    row("v_cvt_off_f32_i4", "f32 i4", lambda a: a / 16)
    for i in range(4):
        row(f"v_cvt_f32_ubyte{i}", "f32 u32", lambda a, i=i: float(a >> 8 * i & 255))
    row("v_cvt_norm_i16_f16", "i16 f16", lambda a: normalised(a, 32767, -1))
    row("v_cvt_norm_u16_f16", "u16 f16", lambda a: normalised(a, 65535, 0))


def to_integer(value, more):
    if math.isinf(value):
        return (1 << 31) - 1 if value > 0 else -1 << 31
    return n.clamped(math.floor(Fraction(value) + more), -1 << 31, (1 << 31) - 1)


def sum_of(a, b, sign, kind):
    if not math.isfinite(a) or not math.isfinite(b) or a == 0 or b == 0:
        return a + sign * b
    return n.rounded(Fraction(a) + sign * Fraction(b), kind)


def add_comparisons():
    for kinds, words in (("i16 u16 i32 u32 i64 u64", ("f", "t")), ("f16 f32 f64", ("f", "tru"))):
        for kind in kinds.split():
            for word, answer in zip(words, (False, True)):
                row(f"v_cmp_{word}_{kind}", f"mask {kind} {kind}", lambda a, b, answer=answer: answer)
    # Each comparison has a second form, which also sets EXEC.
    for name, result, sources, function, more in [each for each in ROWS if each[1] == "mask"]:
        ROWS.append((name.replace("v_cmp_", "v_cmpx_"), result, sources, function, {**more, "exec": True}))
