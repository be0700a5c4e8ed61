"""Instructions on integers (rows.py)."""
import numbers_of_registers as n
from rows import M16, M32, ROWS, row, rows, two


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


def bits_reversed(a):
    return int(f"{a:032b}"[::-1], 2)


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


def add_plain_integers():
    rows("u32 u32 u32", v_add_u32=lambda a, b: a + b, v_sub_u32=lambda a, b: a - b, v_subrev_u32=lambda a, b: b - a,
         v_and_b32=lambda a, b: a & b, v_or_b32=lambda a, b: a | b, v_xor_b32=lambda a, b: a ^ b)
    rows("i32 u32 i32", v_ashrrev_i32=lambda a, b: b >> a % 32)
    rows("u16 u16 u16", v_add_u16=lambda a, b: a + b, v_sub_u16=lambda a, b: a - b, v_subrev_u16=lambda a, b: b - a,
         v_mul_lo_u16=lambda a, b: a * b, v_lshlrev_b16=lambda a, b: b << a % 16, v_lshrrev_b16=lambda a, b: b >> a % 16)
    rows("i16 u16 i16", v_ashrrev_i16=lambda a, b: b >> a % 16)



# With a carry, or borrow, in and out: (a, b, carry) to the sum.
