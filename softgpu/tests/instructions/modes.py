"""Kernels of one vector instruction each under every rounding and denormal mode of MODE, and with its IEEE and
DX10_CLAMP bits, each with the result that IEEE 754 and AMD's guides define."""
import math
from fractions import Fraction

import numbers_of_registers as n

NEAREST, UP, DOWN, CUT = range(4)
KEEP_SOURCES, KEEP_RESULTS = 1, 2
DX10_CLAMP, IEEE = 1 << 8, 1 << 9
QUIET = {"f16": 1 << 9, "f32": 1 << 22, "f64": 1 << 51}
PLACES = ("v10", "v12", "v14")


def toward(exact, kind, direction):
    """A fraction that is not zero, rounded."""
    digits, least, _, _ = n.FLOATS[kind]
    size, is_minus = abs(exact), exact < 0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    grows = direction == (DOWN if is_minus else UP)
    steps = size / unit
    made = (round(steps) if direction == NEAREST else math.ceil(steps) if grows else math.floor(steps)) * unit
    if made >= Fraction(2) ** (2 - least):
        is_infinite = grows or direction == NEAREST
        made = n.INFINITY if is_infinite else (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** (1 - least)
    return -float(made) if is_minus else float(made)


def flushed(value, kind, keeps):
    is_denormal = value != 0 and abs(value) < 2.0 ** n.FLOATS[kind][1]
    return math.copysign(0.0, value) if is_denormal and not keeps else value


class Mode:
    """The rounding and denormal mode of one class of numbers; the other class has different ones."""

    def __init__(self, direction, denormals, kind=None):
        self.direction, self.denormals = direction, denormals
        own = direction, denormals
        other = own if kind is None else (direction ^ 3, denormals ^ 3)
        single, double = (own, other) if kind in (None, "f32") else (other, own)
        self.bits = single[0] | double[0] << 2 | single[1] << 4 | double[1] << 6 | DX10_CLAMP | IEEE

    def fused(self, a, b, c, kind):
        """a x b + c; if c is None, which differs from 0, the product alone."""
        a, b, c = (value if value is None else flushed(value, kind, self.denormals & KEEP_SOURCES) for value in (a, b, c))
        if not all(value is None or math.isfinite(value) for value in (a, b, c)):
            return a * b if c is None else special_sum(a, b, c)
        minus = math.copysign(1, a) * math.copysign(1, b)
        exact = Fraction(a) * Fraction(b) + (Fraction(c) if c else 0)
        if exact == 0:
            if c is None or math.copysign(1, c) == minus:
                return minus * 0.0
            return -0.0 if self.direction == DOWN else 0.0
        return flushed(toward(exact, kind, self.direction), kind, self.denormals & KEEP_RESULTS)


def special_sum(a, b, c):
    """For infinite or NaN operands: a product of finite numbers does not matter then."""
    product = a * b if not (math.isfinite(a) and math.isfinite(b)) else 0.0
    return product + c


def text(code, mode):
    return f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 10), {mode:#x}\n{code}"


def words_of(inputs, count):
    return [inputs[2 * i] | inputs[2 * i + 1] << 32 for i in range(count)]


def same(found, wanted, kind):
    if wanted != wanted:
        return n.value_of(found, kind) != n.value_of(found, kind)
    return found & (1 << n.size_of(kind)) - 1 == n.bits_of(wanted, kind)


def checker(count, source, result, function):
    def check(inputs, found, lane):
        values = [n.value_of(word, source) for word in words_of(inputs, count)]
        wanted = function(*values)
        return None if wanted is None or same(found["d"], wanted, result) else \
            f"of {values}: {found['d']:#x}, and not {wanted}"
    return check


def packed_checker(count, function):
    def check(inputs, found, lane):
        for shift in (0, 16):
            values = [n.value_of(word >> shift, "f16") for word in words_of(inputs, count)]
            wanted = function(*values)
            if not same(found["d"] >> shift & 0xffff, wanted, "f16"):
                return f"of {values}: {found['d']:#x}, and not {wanted}"
        return None
    return check


def arithmetic(mode_of):
    for kind in ("f16", "f32", "f64"):
        mode = mode_of(kind)
        pair = (lambda place: place) if kind != "f64" else lambda place: f"v[{place[1:]}:{int(place[1:]) + 1}]"
        places, target, bits = [pair(place) for place in PLACES], pair("v16"), f"bits{kind[1:]}"
        for name, count, function in (
                ("add", 2, lambda a, b, m=mode, k=kind: m.fused(a, 1.0, b, k)),
                ("mul", 2, lambda a, b, m=mode, k=kind: m.fused(a, b, None, k)),
                ("fma", 3, lambda a, b, c, m=mode, k=kind: m.fused(a, b, c, k))):
            for given in (kind, bits):
                yield (f"v_{name}_{kind}", text(f"v_{name}_{kind} {target}, {', '.join(places[:count])}", mode.bits),
                       checker(count, kind, kind, function), [given] * 3 + ["b64"])
        if kind == "f16":
            for name, count, function in (("add", 2, lambda a, b: mode.fused(a, 1.0, b, "f16")),
                                          ("mul", 2, lambda a, b: mode.fused(a, b, None, "f16")),
                                          ("fma", 3, lambda a, b, c: mode.fused(a, b, c, "f16"))):
                yield (f"v_pk_{name}_f16", text(f"v_pk_{name}_f16 v16, {', '.join(PLACES[:count])}", mode.bits),
                       packed_checker(count, function), ["b32"] * 3 + ["b64"])


def conversions(mode):
    """The class does not matter here: both have the same mode."""
    def narrowed(value, source, kind):
        if not math.isfinite(value) or value == 0:
            return value
        if abs(value) < 2.0 ** n.FLOATS[source][1]:
            return None  # flushed by one class or the other
        return flushed(toward(Fraction(value), kind, mode.direction), kind, mode.denormals & KEEP_RESULTS)

    yield ("v_cvt_f16_f32", text("v_cvt_f16_f32 v16, v10", mode.bits),
           checker(1, "f32", "f16", lambda a: narrowed(a, "f32", "f16")), ["f32", "b64", "b64", "b64"])
    yield ("v_cvt_f32_f64", text("v_cvt_f32_f64 v16, v[10:11]", mode.bits),
           checker(1, "f64", "f32", lambda a: narrowed(a, "f64", "f32")), ["f64", "b64", "b64", "b64"])
    for source in ("i32", "u32"):
        yield (f"v_cvt_f32_{source}", text(f"v_cvt_f32_{source} v16, v10", mode.bits),
               checker(1, source, "f32", lambda a: toward(Fraction(a), "f32", mode.direction) if a else 0.0),
               [source, "b64", "b64", "b64"])
    for kind in ("f16", "f32"):  # always to the nearest integer
        yield (f"v_rndne_{kind}", text(f"v_rndne_{kind} v16, v10", mode.bits),
               checker(1, kind, kind, lambda a: math.copysign(float(round(a)), a) if math.isfinite(a) else a),
               [kind, "b64", "b64", "b64"])


def is_nan(bits, kind):
    return n.value_of(bits, kind) != n.value_of(bits, kind)


def extreme_bits(words, kind, is_most, is_ieee, keeps):
    """Compares two numbers by their bits."""
    a, b = (word & (1 << n.size_of(kind)) - 1 for word in words)
    if not keeps:
        a, b = (bits if is_nan(bits, kind) else n.bits_of(flushed(n.value_of(bits, kind), kind, False), kind)
                for bits in (a, b))
    for bits in (a, b):
        if is_ieee and is_nan(bits, kind) and not bits & QUIET[kind]:
            return bits | QUIET[kind]
    if is_nan(a, kind):
        return b
    if is_nan(b, kind):
        return a
    return (max if is_most else min)((a, b), key=lambda bits: n.order(n.value_of(bits, kind)))


def extremes():
    for kind, given in (("f16", "s16"), ("f32", "s32"), ("f64", "s64")):
        target, a, b = ("v[16:17]", "v[10:11]", "v[12:13]") if kind == "f64" else ("v16", "v10", "v12")
        for name in ("min", "max"):
            for is_ieee in (0, 1):
                for keeps in (0, 3):
                    def check(inputs, found, lane, k=kind, most=name == "max", ieee=is_ieee, keeps=keeps):
                        words = words_of(inputs, 2)
                        wanted = extreme_bits(words, k, most, ieee, keeps == 3)
                        got = found["d"] & (1 << n.size_of(k)) - 1
                        return None if got == wanted else f"of {[hex(word) for word in words]}: {got:#x}, and not {wanted:#x}"
                    mode = keeps << 4 | keeps << 6 | DX10_CLAMP | is_ieee * IEEE
                    yield f"v_{name}_{kind}", text(f"v_{name}_{kind} {target}, {a}, {b}", mode), check, [given] * 2 + ["b64"] * 2


def clamps():
    for has_bit in (0, 1):
        def check(inputs, found, lane, has_bit=has_bit):
            a, b = (n.value_of(word, "f32") for word in words_of(inputs, 2))
            total = a + b
            wanted = (0.0 if has_bit else n.NAN) if total != total else n.clamped(total, 0.0, 1.0)
            got = n.value_of(found["d"], "f32")
            return None if got == wanted or (got != got and wanted != wanted) or 0 < total < 1 else f"of {a}, {b}: {got}"
        yield ("v_add_f32", text("v_add_f32_e64 v16, v10, v12 clamp", 0xf0 | has_bit * DX10_CLAMP), check,
               ["s32"] * 2 + ["b64"] * 2)


def kernels():
    made = []
    for direction in (NEAREST, UP, DOWN, CUT):
        for denormals in range(4):
            made += arithmetic(lambda kind, d=direction, s=denormals: Mode(d, s, kind))
            made += conversions(Mode(direction, denormals))
    return made + list(extremes()) + list(clamps())
