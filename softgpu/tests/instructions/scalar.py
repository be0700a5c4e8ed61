"""What scalar instructions do, from their definitions in AMD's guides to the Vega instruction set.

Each row: name, operands as bits ("d", "a", "b" in the order of the assembly), and a function of (a, b, s, d),
which are the sources, SCC, and the destination before; it returns the destination and SCC."""

M32, M64 = (1 << 32) - 1, (1 << 64) - 1


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def true_if_not_zero(value, bits):
    value &= (1 << bits) - 1
    return value, int(value != 0)


def field(value, how, bits):
    offset, width = how & bits - 1, how >> 16 & 127
    return value >> offset, width


def cut(value, how, bits):
    part, width = field(value, how, bits)
    return true_if_not_zero(part & (1 << width) - 1, bits)


def cut_signed(value, how, bits):
    part, width = field(signed(value, bits), how, bits)
    return true_if_not_zero(signed(part, width) if width else 0, bits)


def first(text, digit):
    """The first place of the digit; -1 if there is none."""
    return text.find(digit) & M32


def upwards(value, bits):
    return f"{value:0{bits}b}"[::-1]


def leading(value, bits):
    return first(f"{value:0{bits}b}", "1")


def leading_signs(value, bits):
    text = f"{value:0{bits}b}"
    return first(text, "0" if text[0] == "1" else "1")


def quads(value, bits):
    return [value >> n & 15 for n in range(0, bits, 4)]


def joined(parts, bits):
    return sum(part << n * bits for n, part in enumerate(parts))


def logic(name, function):
    return [(f"s_{name}_b{bits}", f"d{bits} a{bits} b{bits}",
             lambda a, b, s, d, bits=bits: true_if_not_zero(function(a, b), bits)) for bits in (32, 64)]


def compare(name, function):
    made = []
    for kind in "iu":
        convert = (lambda x: signed(x, 32)) if kind == "i" else (lambda x: x)
        made.append((f"s_cmp_{name}_{kind}32", "a32 b32",
                     lambda a, b, s, d, c=convert: (None, int(function(c(a), c(b))))))
    return made


def compare_constant(name, function):
    made = []
    for kind in "iu":
        for constant in (0, 5, 0x7fff, 0xfff3):
            other = signed(constant, 16) if kind == "i" else constant
            convert = (lambda x: signed(x, 32)) if kind == "i" else (lambda x: x)
            text = f"{other}" if kind == "i" else f"{constant:#x}"
            made.append((f"s_cmpk_{name}_{kind}32", f"d32 ={text}",
                         lambda a, b, s, d, c=convert, other=other: (None, int(function(c(d), other)))))
    return made


RELATIONS = {"eq": lambda a, b: a == b, "lg": lambda a, b: a != b, "gt": lambda a, b: a > b,
             "ge": lambda a, b: a >= b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b}

ROWS = [
    ("s_add_u32", "d32 a32 b32", lambda a, b, s, d: (a + b, a + b >> 32)),
    ("s_sub_u32", "d32 a32 b32", lambda a, b, s, d: (a - b, int(b > a))),
    ("s_addc_u32", "d32 a32 b32", lambda a, b, s, d: (a + b + s, a + b + s >> 32)),
    ("s_subb_u32", "d32 a32 b32", lambda a, b, s, d: (a - b - s, int(b + s > a))),
    ("s_add_i32", "d32 a32 b32", lambda a, b, s, d:
        (a + b, int(signed(a, 32) + signed(b, 32) != signed(a + b, 32)))),
    ("s_sub_i32", "d32 a32 b32", lambda a, b, s, d:
        (a - b, int(signed(a, 32) - signed(b, 32) != signed(a - b, 32)))),
    ("s_min_i32", "d32 a32 b32", lambda a, b, s, d:
        (min(signed(a, 32), signed(b, 32)), int(signed(a, 32) < signed(b, 32)))),
    ("s_max_i32", "d32 a32 b32", lambda a, b, s, d:
        (max(signed(a, 32), signed(b, 32)), int(signed(a, 32) > signed(b, 32)))),
    ("s_min_u32", "d32 a32 b32", lambda a, b, s, d: (min(a, b), int(a < b))),
    ("s_max_u32", "d32 a32 b32", lambda a, b, s, d: (max(a, b), int(a > b))),
    ("s_absdiff_i32", "d32 a32 b32", lambda a, b, s, d: true_if_not_zero(abs(signed(a, 32) - signed(b, 32)), 32)),
    ("s_abs_i32", "d32 a32", lambda a, b, s, d: true_if_not_zero(abs(signed(a, 32)), 32)),
    ("s_mul_i32", "d32 a32 b32", lambda a, b, s, d: (a * b, s)),
    ("s_mul_hi_u32", "d32 a32 b32", lambda a, b, s, d: (a * b >> 32, s)),
    ("s_mul_hi_i32", "d32 a32 b32", lambda a, b, s, d: (signed(a, 32) * signed(b, 32) >> 32, s)),
    ("s_mulk_i32", "d32 =-77", lambda a, b, s, d: (d * -77, s)),
    ("s_addk_i32", "d32 =-77", lambda a, b, s, d: (d - 77, int(signed(d, 32) - 77 < -1 << 31))),
    ("s_movk_i32", "d32 =-77", lambda a, b, s, d: (-77, s)),
    ("s_cmovk_i32", "d32 =-77", lambda a, b, s, d: (-77 if s else d, s)),
    *((f"s_lshl{n}_add_u32", "d32 a32 b32", lambda a, b, s, d, n=n: ((a << n) + b, int((a << n) + b > M32)))
      for n in (1, 2, 3, 4)),
    ("s_pack_ll_b32_b16", "d32 a32 b32", lambda a, b, s, d: (a & 0xffff | b << 16, s)),
    ("s_pack_lh_b32_b16", "d32 a32 b32", lambda a, b, s, d: (a & 0xffff | b & 0xffff0000, s)),
    ("s_pack_hh_b32_b16", "d32 a32 b32", lambda a, b, s, d: (a >> 16 | b & 0xffff0000, s)),
    *logic("and", lambda a, b: a & b), *logic("or", lambda a, b: a | b), *logic("xor", lambda a, b: a ^ b),
    *logic("andn2", lambda a, b: a & ~b), *logic("orn2", lambda a, b: a | ~b),
    *logic("nand", lambda a, b: ~(a & b)), *logic("nor", lambda a, b: ~(a | b)), *logic("xnor", lambda a, b: ~(a ^ b)),
    ("s_lshl_b32", "d32 a32 b32", lambda a, b, s, d: true_if_not_zero(a << b % 32, 32)),
    ("s_lshr_b32", "d32 a32 b32", lambda a, b, s, d: true_if_not_zero(a >> b % 32, 32)),
    ("s_ashr_i32", "d32 a32 b32", lambda a, b, s, d: true_if_not_zero(signed(a, 32) >> b % 32, 32)),
    ("s_lshl_b64", "d64 a64 b32", lambda a, b, s, d: true_if_not_zero(a << b % 64, 64)),
    ("s_lshr_b64", "d64 a64 b32", lambda a, b, s, d: true_if_not_zero(a >> b % 64, 64)),
    ("s_ashr_i64", "d64 a64 b32", lambda a, b, s, d: true_if_not_zero(signed(a, 64) >> b % 64, 64)),
    ("s_bfm_b32", "d32 a32 b32", lambda a, b, s, d: ((1 << a % 32) - 1 << b % 32, s)),
    ("s_bfm_b64", "d64 a32 b32", lambda a, b, s, d: ((1 << a % 64) - 1 << b % 64, s)),
    ("s_bfe_u32", "d32 a32 b32", lambda a, b, s, d: cut(a, b, 32)),
    ("s_bfe_i32", "d32 a32 b32", lambda a, b, s, d: cut_signed(a, b, 32)),
    ("s_bfe_u64", "d64 a64 b32", lambda a, b, s, d: cut(a, b, 64)),
    ("s_bfe_i64", "d64 a64 b32", lambda a, b, s, d: cut_signed(a, b, 64)),
    ("s_cselect_b32", "d32 a32 b32", lambda a, b, s, d: (a if s else b, s)),
    ("s_cselect_b64", "d64 a64 b64", lambda a, b, s, d: (a if s else b, s)),
    ("s_mov_b32", "d32 a32", lambda a, b, s, d: (a, s)),
    ("s_mov_b64", "d64 a64", lambda a, b, s, d: (a, s)),
    ("s_cmov_b32", "d32 a32", lambda a, b, s, d: (a if s else d, s)),
    ("s_cmov_b64", "d64 a64", lambda a, b, s, d: (a if s else d, s)),
    ("s_not_b32", "d32 a32", lambda a, b, s, d: true_if_not_zero(~a, 32)),
    ("s_not_b64", "d64 a64", lambda a, b, s, d: true_if_not_zero(~a, 64)),
    ("s_wqm_b32", "d32 a32", lambda a, b, s, d: true_if_not_zero(joined([15 * (q != 0) for q in quads(a, 32)], 4), 32)),
    ("s_wqm_b64", "d64 a64", lambda a, b, s, d: true_if_not_zero(joined([15 * (q != 0) for q in quads(a, 64)], 4), 64)),
    ("s_quadmask_b32", "d32 a32", lambda a, b, s, d: true_if_not_zero(joined([q != 0 for q in quads(a, 32)], 1), 32)),
    ("s_quadmask_b64", "d64 a64", lambda a, b, s, d: true_if_not_zero(joined([q != 0 for q in quads(a, 64)], 1), 64)),
    ("s_brev_b32", "d32 a32", lambda a, b, s, d: (int(upwards(a, 32), 2), s)),
    ("s_brev_b64", "d64 a64", lambda a, b, s, d: (int(upwards(a, 64), 2), s)),
    *((f"s_bcnt{digit}_i32_b{bits}", f"d32 a{bits}", lambda a, b, s, d, bits=bits, digit=digit:
        true_if_not_zero(f"{a:0{bits}b}".count(str(digit)), 32)) for digit in (0, 1) for bits in (32, 64)),
    *((f"s_ff{digit}_i32_b{bits}", f"d32 a{bits}", lambda a, b, s, d, bits=bits, digit=digit:
        (first(upwards(a, bits), str(digit)), s)) for digit in (0, 1) for bits in (32, 64)),
    ("s_flbit_i32_b32", "d32 a32", lambda a, b, s, d: (leading(a, 32), s)),
    ("s_flbit_i32_b64", "d32 a64", lambda a, b, s, d: (leading(a, 64), s)),
    ("s_flbit_i32", "d32 a32", lambda a, b, s, d: (leading_signs(a, 32), s)),
    ("s_flbit_i32_i64", "d32 a64", lambda a, b, s, d: (leading_signs(a, 64), s)),
    ("s_sext_i32_i8", "d32 a32", lambda a, b, s, d: (signed(a, 8), s)),
    ("s_sext_i32_i16", "d32 a32", lambda a, b, s, d: (signed(a, 16), s)),
    ("s_bitset0_b32", "d32 a32", lambda a, b, s, d: (d & ~(1 << a % 32), s)),
    ("s_bitset1_b32", "d32 a32", lambda a, b, s, d: (d | 1 << a % 32, s)),
    ("s_bitset0_b64", "d64 a32", lambda a, b, s, d: (d & ~(1 << a % 64), s)),
    ("s_bitset1_b64", "d64 a32", lambda a, b, s, d: (d | 1 << a % 64, s)),
    ("s_bitreplicate_b64_b32", "d64 a32", lambda a, b, s, d: (int("".join(2 * bit for bit in f"{a:032b}"), 2), s)),
    *((f"s_bitcmp{digit}_b{bits}", f"a{bits} b32", lambda a, b, s, d, bits=bits, digit=digit:
        (None, int((a >> b % bits & 1) == digit))) for digit in (0, 1) for bits in (32, 64)),
    ("s_cmp_eq_u64", "a64 b64", lambda a, b, s, d: (None, int(a == b))),
    ("s_cmp_lg_u64", "a64 b64", lambda a, b, s, d: (None, int(a != b))),
    *(row for name, relation in RELATIONS.items() for row in compare(name, relation)),
    *(row for name, relation in RELATIONS.items() for row in compare_constant(name, relation)),
]

# Instructions that change EXEC: a function of (a, exec) that returns the new EXEC; the destination
# gets the old one or, if the name says wrexec, the new one. SCC says whether any lane is left.
EXEC_ROWS = [
    ("s_and_saveexec_b64", lambda a, e: a & e), ("s_or_saveexec_b64", lambda a, e: a | e),
    ("s_xor_saveexec_b64", lambda a, e: a ^ e), ("s_andn2_saveexec_b64", lambda a, e: a & ~e),
    ("s_orn2_saveexec_b64", lambda a, e: a | ~e), ("s_nand_saveexec_b64", lambda a, e: ~(a & e)),
    ("s_nor_saveexec_b64", lambda a, e: ~(a | e)), ("s_xnor_saveexec_b64", lambda a, e: ~(a ^ e)),
    ("s_andn1_saveexec_b64", lambda a, e: ~a & e), ("s_orn1_saveexec_b64", lambda a, e: ~a | e),
    ("s_andn1_wrexec_b64", lambda a, e: ~a & e), ("s_andn2_wrexec_b64", lambda a, e: a & ~e),
]

REGISTERS = {"d": "s24", "a": "s20", "b": "s22"}
WIDE = {"d": "s[24:25]", "a": "s[20:21]", "b": "s[22:23]"}


def kernels():
    """[(name, code, check)]: check(inputs, outputs) of one wave says what is wrong, if anything is."""
    made = []
    for name, operands, function in ROWS:
        texts = [each[1:] if each[0] == "=" else (WIDE if each[1:] == "64" else REGISTERS)[each[0]]
                 for each in operands.split()]
        made.append((name, f"{name} {', '.join(texts)}", checker(operands.split(), function)))
    for name, function in EXEC_ROWS:
        code = f"s_mov_b64 exec, s[26:27]\n{name} s[24:25], s[20:21]"
        made.append((name, code, exec_checker(function, "wrexec" in name)))
    return made


def pair(inputs, row):
    return inputs[row] | inputs[row + 1] << 32


def checker(operands, function):
    widths = {each[0]: int(each[1:]) for each in operands if each[0] != "="}

    def check(inputs, found):
        value = {letter: pair(inputs, row) & (1 << widths.get(letter, 32)) - 1
                 for letter, row in (("a", 0), ("b", 2), ("d", 4))}
        made, scc = function(value["a"], value["b"], inputs[6] & 1, value["d"])
        wanted = pair(inputs, 4)
        if made is not None:
            bits = widths["d"]
            wanted = wanted >> bits << bits | made & (1 << bits) - 1
        if (found["d"], found["scc"]) == (wanted, scc):
            return None
        return f"of {value}, SCC {inputs[6] & 1}: {found['d']:#x} SCC {found['scc']}, and not {wanted:#x} SCC {scc}"

    return check


def exec_checker(function, gives_new):
    def check(inputs, found):
        a, before = pair(inputs, 0), pair(inputs, 6)
        after = function(a, before) & M64
        wanted = (after if gives_new else before, int(after != 0), after)
        got = found["d"], found["scc"], found["exec"]
        return None if got == wanted else f"of {a:#x}, EXEC {before:#x}: {got}, and not {wanted}"

    return check
