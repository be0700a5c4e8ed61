"""Numbers as registers hold them, and exact rounding, independent of the engine."""
import math
import struct
from fractions import Fraction

# Bits of the significand, the smallest exponent, and struct's formats for the number and its bits.
FLOATS = {"f16": (11, -14, "<e", "<H"), "f32": (24, -126, "<f", "<I"), "f64": (53, -1022, "<d", "<Q")}
NAN, INFINITY = math.nan, math.inf


def size_of(kind):
    return int(kind[1:])


def value_of(bits, kind):
    """The value of the lowest bits; kinds are b32, u16, i64, f32 and the like."""
    bits &= (1 << size_of(kind)) - 1
    if kind in FLOATS:
        _, _, number, word = FLOATS[kind]
        return struct.unpack(number, struct.pack(word, bits))[0]
    return bits - (bits >> size_of(kind) - 1 << size_of(kind)) if kind[0] == "i" else bits


def bits_of(value, kind):
    """Integers wrap around; a float must be representable in the format."""
    if kind not in FLOATS:
        return value & (1 << size_of(kind)) - 1
    _, _, number, word = FLOATS[kind]
    return struct.unpack(word, struct.pack(number, value))[0]


def rounded(value, kind, cut=False):
    """Rounds to the nearest representable number, ties to even; or, with cut, towards zero."""
    if isinstance(value, float) and (not math.isfinite(value) or value == 0):
        return value
    if value == 0:
        return 0.0
    digits, least, _, _ = FLOATS[kind]
    exact = Fraction(value)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    made = (math.floor(size / unit) if cut else round(size / unit)) * unit
    if made >= Fraction(2) ** (2 - least):
        made = (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** (1 - least) if cut else INFINITY
    return -float(made) if exact < 0 else float(made)


def fused(a, b, c, kind):
    """a x b + c, rounded once."""
    if not all(map(math.isfinite, (a, b, c))) or a == 0 or b == 0:
        return a * b + c
    exact = Fraction(a) * Fraction(b) + (Fraction(c) if c else 0)
    return rounded(exact, kind)


def apart(a, b, c, kind):
    """a x b + c, the product rounded, too."""
    product = a * b
    if math.isfinite(a) and math.isfinite(b) and a and b:
        product = rounded(Fraction(a) * Fraction(b), kind)
    if not math.isfinite(product) or product == 0 or not math.isfinite(c):
        return product + c
    return rounded(Fraction(product) + (Fraction(c) if c else 0), kind)


def order(value):
    """A sort key that puts -0 before 0."""
    return value, math.copysign(1, value)


def least(*values):
    numbers = [value for value in values if value == value]
    return min(numbers, key=order) if numbers else NAN


def most(*values):
    numbers = [value for value in values if value == value]
    return max(numbers, key=order) if numbers else NAN


def middle(a, b, c):
    return least(a, b, c) if NAN in (a, b, c) or any(x != x for x in (a, b, c)) else sorted((a, b, c), key=order)[1]


def clamped(value, low, high):
    return max(low, min(high, value))


def parts(word, bits, is_signed=False):
    """The 32-bit parts, the lowest first."""
    return [value_of(word >> n, f"{'i' if is_signed else 'u'}{bits}") for n in range(0, 32, bits)]
