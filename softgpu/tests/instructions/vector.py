"""What vector instructions do, from their definitions in AMD's guides to the Vega and CDNA 2 instruction sets.

Each row: name, kinds of the destination and the sources, and a function of the sources as numbers. A float is
what the function rounded. Of a destination of 16 bits `keep` says that the upper half stays; `into` that the
function gets the old destination as its last argument."""
import math
from fractions import Fraction

import numbers_of_registers as n

M16, M32 = 0xffff, (1 << 32) - 1


def sum_of_distances(a, b, masked=False):
    return sum(abs(x - y) for x, y in zip(n.parts(a, 8), n.parts(b, 8)) if not masked or y)


def lerp(a, b, c):
    return sum((x + y + (z & 1) >> 1) << 8 * i for i, (x, y, z) in
               enumerate(zip(n.parts(a, 8), n.parts(b, 8), n.parts(c, 8))))


def dot(bits, is_signed, clamps=False):
    def function(a, b, c):
        low, high = (-1 << 31, (1 << 31) - 1) if is_signed else (0, M32)
        if is_signed:
            c = n.value_of(c, "i32")
        made = c + sum(x * y for x, y in zip(n.parts(a, bits, is_signed), n.parts(b, bits, is_signed)))
        return n.clamped(made, low, high) if clamps else made
    return function


def two(low, high):
    return low & M16 | (high & M16) << 16


def nearest(value):
    """The integer nearest to a fraction, the even one of two."""
    return round(Fraction(value))


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
    return lambda a, b, *c: (c[0] if c else 0.0) if a == 0 or b == 0 else function(a, b, *c)


def product(a, b):
    return n.rounded(Fraction(a) * Fraction(b), "f32") if math.isfinite(a) and math.isfinite(b) and a and b else a * b


def fixed_quotient(quotient, divisor, dividend):
    """What a division gives whose operands may be special."""
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
    """53 bits of 2 / pi, as reduction of large arguments takes them."""
    exponent = n.bits_of(value, "f64") >> 52 & 0x7ff
    shift = (segment & 31) * 53 + max(0, exponent - 1077)
    bits = (TWO_OVER_PI << shift) >> 1148 & (1 << 53) - 1
    scale = -53 - shift + (128 if exponent >= 1968 else 0)
    return n.rounded(Fraction(bits) * Fraction(2) ** scale, "f64")


def bits_reversed(a):
    return int(f"{a:032b}"[::-1], 2)


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


ROWS = []


def row(name, kinds, function, **more):
    ROWS.append((name, kinds.split()[0], kinds.split()[1:], function, more))


def rows(kinds, **functions):
    for name, function in functions.items():
        row(name, kinds, function)


def add_integers():
    rows("i16 i16 i16", v_add_i16=lambda a, b: a + b, v_sub_i16=lambda a, b: a - b)
    for name, sign in (("v_add", 1), ("v_sub", -1)):
        row(f"{name}_i16", "i16 i16 i16", lambda a, b, sign=sign: n.clamped(a + sign * b, -32768, 32767),
            after=" clamp", keep=True)
        row(f"{name}_i32", "i32 i32 i32", lambda a, b, sign=sign: a + sign * b)
        row(f"{name}_i32", "i32 i32 i32",
            lambda a, b, sign=sign: n.clamped(a + sign * b, -1 << 31, (1 << 31) - 1), after=" clamp")
    for each in ROWS:
        if each[1] == "i16":
            each[4]["keep"] = True
    rows("u32 u32 u32 u32", v_alignbyte_b32=lambda a, b, c: (a << 32 | b) >> 8 * (c & 3),
         v_alignbit_b32=lambda a, b, c: (a << 32 | b) >> c % 32,
         v_lerp_u8=lerp, v_or3_b32=lambda a, b, c: a | b | c, v_and_or_b32=lambda a, b, c: a & b | c,
         v_add3_u32=lambda a, b, c: a + b + c, v_xad_u32=lambda a, b, c: (a ^ b) + c,
         v_bfi_b32=lambda a, b, c: a & b | ~a & c, v_bfe_u32=lambda a, b, c: a >> b % 32 & (1 << c % 32) - 1,
         v_lshl_add_u32=lambda a, b, c: (a << b % 32) + c, v_add_lshl_u32=lambda a, b, c: a + b << c % 32,
         v_lshl_or_b32=lambda a, b, c: a << b % 32 | c,
         v_sad_u8=lambda a, b, c: sum_of_distances(a, b) + c,
         v_sad_hi_u8=lambda a, b, c: (sum_of_distances(a, b) << 16) + c,
         v_msad_u8=lambda a, b, c: sum_of_distances(a, b, True) + c,
         v_sad_u16=lambda a, b, c: sum(abs(x - y) for x, y in zip(n.parts(a, 16), n.parts(b, 16))) + c,
         v_sad_u32=lambda a, b, c: abs(a - b) + c)
    for bits, kind in ((16, "i16"), (8, "i8"), (4, "i4")):
        name = f"v_dot{32 // bits}"
        row(f"{name}_i32_{kind}", "u32 u32 u32 u32", dot(bits, True))
        row(f"{name}_i32_{kind}", "u32 u32 u32 u32", dot(bits, True, True), after=" clamp")
        row(f"{name}_u32_u{kind[1:]}", "u32 u32 u32 u32", dot(bits, False))
        row(f"{name}_u32_u{kind[1:]}", "u32 u32 u32 u32", dot(bits, False, True), after=" clamp")
        row(f"{name}c_i32_{kind}", "u32 u32 u32", dot(bits, True), into=True)
    for kind in ("i32", "u32", "i16", "u16"):
        kept = {"keep": True} if kind[1:] == "16" else {}
        row(f"v_max3_{kind}", " ".join([kind] * 4), max, **kept)
        row(f"v_min3_{kind}", " ".join([kind] * 4), min, **kept)
        row(f"v_med3_{kind}", " ".join([kind] * 4), lambda *abc: sorted(abc)[1], **kept)
        row(f"v_max_{kind}", " ".join([kind] * 3), max)
        row(f"v_min_{kind}", " ".join([kind] * 3), min)
    for kind in ("i16", "u16"):
        row(f"v_mad_{kind}", " ".join([kind] * 4), lambda a, b, c: a * b + c, keep=True)
        row(f"v_mad_legacy_{kind}", " ".join([kind] * 4), lambda a, b, c: a * b + c)
    rows("i32 i16 i16 i32", v_mad_i32_i16=lambda a, b, c: a * b + c)
    rows("u32 u16 u16 u32", v_mad_u32_u16=lambda a, b, c: a * b + c)
    rows("i32 i24 i24 i32", v_mad_i32_i24=lambda a, b, c: a * b + c)
    rows("u32 u24 u24 u32", v_mad_u32_u24=lambda a, b, c: a * b + c)
    rows("i32 i24 i24", v_mul_i32_i24=lambda a, b: a * b, v_mul_hi_i32_i24=lambda a, b: a * b >> 32)
    rows("u32 u24 u24", v_mul_u32_u24=lambda a, b: a * b, v_mul_hi_u32_u24=lambda a, b: a * b >> 32)
    rows("i32 i32 i32", v_mul_hi_i32=lambda a, b: a * b >> 32)
    rows("u32 u32 u32", v_mul_hi_u32=lambda a, b: a * b >> 32, v_mul_lo_u32=lambda a, b: a * b,
         v_bcnt_u32_b32=lambda a, b: f"{a:b}".count("1") + b,
         v_bfm_b32=lambda a, b: (1 << a % 32) - 1 << b % 32, v_xnor_b32=lambda a, b: ~(a ^ b),
         v_lshlrev_b32=lambda a, b: b << a % 32, v_lshrrev_b32=lambda a, b: b >> a % 32,
         v_cvt_pk_u16_u32=lambda a, b: two(min(a, M16), min(b, M16)),
         v_pack_b32_f16=two)
    rows("i64 u32 i64", v_ashrrev_i64=lambda a, b: b >> a % 64, v_lshlrev_b64=lambda a, b: b << a % 64)
    rows("u64 u32 u64", v_lshrrev_b64=lambda a, b: b >> a % 64)
    row("v_mad_i64_i32", "i64 i32 i32 i64", lambda a, b, c: a * b + c, carry="s[26:27], ")
    row("v_mad_u64_u32", "u64 u32 u32 u64", lambda a, b, c: a * b + c, carry="s[26:27], ")
    rows("u32 i32 i32", v_cvt_pk_i16_i32=lambda a, b: two(n.clamped(a, -32768, 32767), n.clamped(b, -32768, 32767)))
    rows("u32 u32", v_bfrev_b32=bits_reversed, v_not_b32=lambda a: ~a,
         v_ffbh_u32=lambda a: f"{a:032b}".find("1"), v_ffbl_b32=lambda a: bits_reversed(a) and
         f"{bits_reversed(a):032b}".find("1") if a else -1,
         v_ffbh_i32=lambda a: f"{a:032b}".find("0" if a >> 31 else "1"),
         v_sat_pk_u8_i16=lambda a: sum(n.clamped(x, 0, 255) << 8 * i for i, x in enumerate(n.parts(a, 16, True))))


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


add_integers()
add_floats()
add_packed()
ROW_OF = {"a": 0, "b": 2, "c": 4}  # of the inputs
PLACE = {"a": 10, "b": 12, "c": 14, "d": 16}


def register(letter, kind):
    first = PLACE[letter]
    return f"v[{first}:{first + 1}]" if n.size_of(kind) == 64 else f"v{first}"


# Halves, an f32, halves.
MIXED = ["pair", "f32", "pair", "b64"]


def kernels():
    """[(name, code, check, kinds of A, B, C and the destination)]; check is one lane's."""
    made = []
    for name, result, sources, function, more in ROWS:
        texts = [register(letter, kind) for letter, kind in zip("abc", sources)]
        texts = [sign.format(text) for sign, text in zip(more.get("signs", ["{}"] * 3), texts)]
        if "between" in more:
            texts[1] = more["between"] + texts[1]
        target = "vcc" if result == "mask" else register("d", "u32" if result == "halves" else result)
        code = f"{name} {target}, {more.get('carry', '')}{', '.join(texts)}{more.get('after', '')}"
        into = "b64" if result in ("mask", "halves") or not more.get("into") else result
        made.append((name.removesuffix("_e64"), code, checker(result, sources, function, more),
                     (sources + ["b64"] * 3)[:3] + [into]))
    for name, kind, count, function in PACKED:
        for low, high, negated in ((0, 7, 0), (5, 2, 3)):
            made.append(packed_kernel(name, kind, count, function, low, high, negated if kind == "f16" else 0))
    made.append(("v_pk_fmac_f16", "v_pk_fmac_f16 v16, v10, v12", packed_checker("f16", 3, PACKED[-1][3], 0, 7, 0, True),
                 ["pair"] * 4))
    for name, shift in (("v_fma_mixlo_f16", 0), ("v_fma_mixhi_f16", 16)):
        made.append((name, f"{name} v16, v10, v12, v14 op_sel:[1,0,0] op_sel_hi:[1,0,1]", mix_checker(shift), MIXED))
    made.append(("v_fma_mix_f32", "v_fma_mix_f32 v16, v10, v12, v14 op_sel:[1,0,0] op_sel_hi:[1,0,1]",
                 mix_checker(None), MIXED))
    return made + other_kernels()


def same(found, wanted, kind):
    """Whether bits are a number, of which NaN has many forms."""
    if kind in n.FLOATS and wanted != wanted:
        return n.value_of(found, kind) != n.value_of(found, kind)
    return found & (1 << n.size_of(kind)) - 1 == n.bits_of(wanted, kind)


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
            got = found["vcc"] >> lane & 1
            return None if got == wanted else f"of {sources}: {got}, and not {wanted}"
        got = found["d"]
        if result == "halves":
            return None if all(same(got >> s & M16, n.value_of(wanted >> s & M16, "f16"), "f16") for s in (0, 16)) \
                else f"of {sources}: {got:#x}, and not {wanted:#x}"
        size = n.size_of(result)
        above = (before if more.get("keep") else 0) >> 16 & M16 if size == 16 else got >> size & M16
        if same(got, wanted, result) and got >> size & M16 == above:
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
