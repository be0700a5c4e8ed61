"""The instructions of the table (rows.py) with each modifier of the long form that they can have: source signs, upper
register halves, result multipliers and clamp; those without a documented meaning must be refused."""
import math
from fractions import Fraction

import numbers_of_registers as n

M16 = 0xffff
# Clamp: integers whose sum stays within its range. Comparisons are unaffected.
SUMS = ("v_add", "v_sub", "v_mad_", "v_sad_", "v_msad_", "v_max3_", "v_min3_", "v_med3_", "v_cmp")


def is_float(name, result):
    return result in n.FLOATS and name != "v_pack_b32_f16"


def is_refused(name, result, modifier):
    if modifier == "clamp":
        return not is_float(name, result) and not name.startswith(SUMS)
    return modifier == "omod" and not is_float(name, result)


def within(value, kind):
    if kind in n.FLOATS:
        return 0.0 if value != value or value <= 0 else min(value, 1.0)
    size = n.size_of(kind)
    low, high = (-1 << size - 1, (1 << size - 1) - 1) if kind[0] == "i" else (0, (1 << size) - 1)
    return n.clamped(value, low, high)


def times(value, factor, kind):
    if not math.isfinite(value) or value == 0:
        return value
    return n.rounded(Fraction(value) * factor, kind)


def with_signs(function, kinds):
    """The first source negative, the second without its sign, the third both."""
    changes = (lambda x: -x, abs, lambda x: -abs(x))
    return lambda *given: function(*(change(x) if kind in n.FLOATS else x for x, kind, change in
                                     zip(given, kinds, changes)), *given[len(kinds):])


def modified_rows(rows, possible):
    """Rows as in rows.py; those that must be refused have `fails`."""
    seen = set()
    for name, result, sources, function, more in rows:
        name = name.removesuffix("_e64")
        if name in seen or any(key in more for key in ("signs", "between", "after")) or "halves" in (result, *sources):
            continue
        seen.add(name)
        for modifier in ("sign", "clamp", "omod"):
            if name not in possible[modifier] or name.startswith("v_dot"):
                continue
            fails = {"fails": True} if is_refused(name, result, modifier) else {}
            exact = "f64" if result == "mask" else result
            if modifier == "sign":
                signs = [sign if kind in n.FLOATS else "{}" for sign, kind in zip(("-{}", "|{}|", "-|{}|"), sources)]
                yield name, result, sources, with_signs(function, sources), {**more, "signs": signs}
            elif modifier == "clamp":
                clamped = function if result == "mask" else lambda *x, f=function, k=exact: within(f(*x), k)
                yield name, result, sources, clamped, {**more, "after": " clamp", **fails}
            else:
                for text, factor in ((" mul:4", 4), (" div:2", Fraction(1, 2))):
                    yield (name, result, sources, lambda *x, f=function, k=exact, by=factor: times(f(*x), by, k)
                           if not fails else f(*x), {**more, "after": text, **fails})


def chosen_kernels(rows, possible, register):
    """The sources are upper halves, and the result goes to one."""
    seen = set()
    for name, result, sources, function, more in rows:
        if name in seen or name not in possible["op_sel"] or "after" in more or name.startswith(("v_pk", "v_dot")):
            continue
        seen.add(name)
        is_half = n.size_of(result) == 16 if result != "halves" else False
        upper = [n.size_of(kind) == 16 for kind in sources]
        takes = list(upper)
        if name in ("v_cvt_pknorm_i16_f16", "v_cvt_pknorm_u16_f16", "v_pack_b32_f16"):
            takes = [True] * len(sources)
        places = [*takes, is_half]
        texts = ", ".join(register(letter, "u32") for letter in "abc"[:len(sources)])
        code = f"{name} v16, {texts} op_sel:[{','.join(str(int(place)) for place in places)}]"

        def check(inputs, found, lane, sources=sources, takes=takes, is_half=is_half, result=result, f=function):
            values = [n.value_of(inputs[2 * i] >> (16 if take else 0), kind) for i, (kind, take) in
                      enumerate(zip(sources, takes))]
            wanted, got = f(*values), found["d"] & 0xffffffff
            if is_half:
                if got & M16 != inputs[6] & M16:
                    return f"the lower half is not kept: {got:#x} of {inputs[6]:#x}"
                got >>= 16
            kind = result if is_half or result != "halves" else "u32"
            if kind in n.FLOATS and wanted != wanted:
                return None if n.value_of(got, kind) != n.value_of(got, kind) else f"of {values}: {got:#x} is a number"
            return None if got == n.bits_of(wanted, kind) else f"of {values}: {got:#x}, and not {wanted}"

        yield name, code, check, ["pair" if "f16" in sources else "b32"] * 3 + ["b64"]


def packed_kernels(packed, possible):
    """Packed 16-bit instructions with clamp; integer signs are refused, and so is clamp of products and shifts."""
    for name, kind, count, function in packed:
        texts = ", ".join(("v10", "v12", "v14")[:count])
        saturates = kind in n.FLOATS or name.startswith(("v_pk_add", "v_pk_sub", "v_pk_mad", "v_pk_max", "v_pk_min"))
        if name in possible["clamp"]:
            def check(inputs, found, lane, kind=kind, count=count, f=function):
                for shift in (0, 16):
                    values = [n.value_of(inputs[2 * i] >> shift, kind) for i in range(count)]
                    got, wanted = found["d"] >> shift & M16, within(f(*values), kind)
                    if got != n.bits_of(wanted, kind):
                        return f"of {values}: {got:#x}, and not {wanted}"
                return None
            yield name, f"{name} v16, {texts} clamp", check, ["pair" if kind == "f16" else "b32"] * 3 + ["b64"], \
                not saturates
        if name in possible["sign"] and kind not in n.FLOATS:
            yield name, f"{name} v16, {texts} neg_lo:[{','.join('100'[:count])}]", None, ["b32"] * 3 + ["b64"], True


def pair_kernels(possible):
    """Two f32: v_pk_add_f32 and the like, with signs, clamp, and either register of each pair."""
    functions = {"v_pk_add_f32": (2, lambda a, b: n.fused(a, 1.0, b, "f32") if a else a + b),
                 "v_pk_mul_f32": (2, lambda a, b: n.rounded(Fraction(a) * Fraction(b), "f32")
                                  if math.isfinite(a) and math.isfinite(b) and a and b else a * b),
                 "v_pk_fma_f32": (3, lambda a, b, c: n.fused(a, b, c, "f32"))}
    for name, (count, function) in functions.items():
        texts = ", ".join(("v[10:11]", "v[12:13]", "v[14:15]")[:count])
        ones = lambda bits: "[" + ",".join(str(bits >> i & 1) for i in range(count)) + "]"
        for low, high, neg_low, neg_high, clamps in ((0, 7, 0, 0, False), (1, 5, 3, 4, False), (2, 6, 5, 1, True)):
            def check(inputs, found, lane, count=count, f=function, low=low, high=high, signs=(neg_low, neg_high),
                      clamps=clamps):
                for upper, selected in ((0, low), (1, high)):
                    values = [n.value_of(inputs[2 * i + (selected >> i & 1)], "f32") for i in range(count)]
                    values = [-x if signs[upper] >> i & 1 else x for i, x in enumerate(values)]
                    wanted, got = f(*values), found["d"] >> 32 * upper & 0xffffffff
                    wanted = within(wanted, "f32") if clamps else wanted
                    if n.value_of(got, "f32") != wanted and not (wanted != wanted and n.value_of(got, "f32") != n.value_of(got, "f32")):
                        return f"of {values}: {got:#x}, and not {wanted}"
                return None
            code = (f"{name} v[16:17], {texts} op_sel:{ones(low)} op_sel_hi:{ones(high)} neg_lo:{ones(neg_low)} "
                    f"neg_hi:{ones(neg_high)}{' clamp' if clamps else ''}")
            yield name, code, check, ["b64"] * 3 + ["b64"], False
    for modifier, text in (("sign", " neg_lo:[1,0]"), ("clamp", " clamp")):
        if "v_pk_mov_b32" in possible[modifier]:
            yield "v_pk_mov_b32", f"v_pk_mov_b32 v[16:17], v[10:11], v[12:13]{text}", None, ["b64"] * 4, True


def mixed_kernels():
    """v_fma_mix: all f32 here, with signs and clamp; and what only moves halves."""
    def packs(inputs, found, lane):
        wanted = (inputs[0] ^ 0x8000) & M16 | (inputs[2] & 0x7fff0000)
        return None if found["d"] & 0xffffffff == wanted else f"{found['d']:#x}, and not {wanted:#x}"
    yield "v_pack_b32_f16", "v_pack_b32_f16 v16, -v10, |v12| op_sel:[0,1,0]", packs, ["pair"] * 2 + ["b64"] * 2, False

    def cuts(inputs, found, lane):
        a, b = -n.value_of(inputs[0], "f32"), abs(n.value_of(inputs[2], "f32"))
        for value, shift in ((a, 0), (b, 16)):
            if value == value and found["d"] >> shift & M16 != n.bits_of(n.rounded(value, "f16", cut=True), "f16"):
                return f"of {a}, {b}: {found['d']:#x}"
        return None
    yield "v_cvt_pkrtz_f16_f32", "v_cvt_pkrtz_f16_f32 v16, -v10, |v12|", cuts, ["f32"] * 2 + ["b64"] * 2, False
    for name, shift, kind in (("v_fma_mix_f32", 0, "f32"), ("v_fma_mixlo_f16", 0, "f16"), ("v_fma_mixhi_f16", 16, "f16")):
        for clamps in (False, True):
            def check(inputs, found, lane, shift=shift, kind=kind, clamps=clamps):
                a, b, c = (n.value_of(inputs[row], "f32") for row in (0, 2, 4))
                single = n.fused(-a, abs(b), -abs(c), "f32")
                single = within(single, "f32") if clamps else single
                wanted = n.rounded(single, kind)
                got = n.value_of(found["d"] >> shift, kind)
                return None if got == wanted or (got != got and wanted != wanted) else \
                    f"of {a}, {b}, {c}: {found['d']:#x}, and not {wanted}"
            yield (name, f"{name} v16, -v10, |v12|, -|v14|{' clamp' if clamps else ''}", check, ["f32"] * 3 + ["b64"], False)


def dot_kernels():
    """v_dot2 with the choice of halves; of halves that are f16 with signs and clamp, too."""
    for name, kind, total in (("v_dot2_f32_f16", "f16", "f32"), ("v_dot2_i32_i16", "i16", "i32"),
                              ("v_dot2_u32_u16", "u16", "u32")):
        for low, high, neg_low, neg_high, clamps in ((1, 2, 0, 0, False), (3, 1, 1, 2, True), (2, 3, 3, 1, False)):
            if kind != "f16":
                neg_low = neg_high = 0

            def check(inputs, found, lane, kind=kind, total=total, selected=(low, high), signs=(neg_low, neg_high),
                      clamps=clamps):
                exact, values = n.value_of(inputs[4], total), []
                for choice, sign in zip(selected, signs):
                    pair = [n.value_of(inputs[2 * i] >> (16 if choice >> i & 1 else 0), kind) for i in range(2)]
                    values.append([-x if sign >> i & 1 else x for i, x in enumerate(pair)])
                if kind == "f16":
                    if not all(math.isfinite(x) for pair in values for x in pair) or not math.isfinite(exact):
                        return None  # which of several NaNs is up to the instruction table
                    wanted = n.rounded(sum((Fraction(a) * Fraction(b) for a, b in values), Fraction(exact)), "f32")
                    got = n.value_of(found["d"], "f32")
                    wanted = within(wanted, "f32") if clamps else wanted
                    # The sum is in f64, and rounded again.
                    return None if abs(got - wanted) <= abs(wanted) * 2.0 ** -23 else f"of {values}: {got}, and not {wanted}"
                exact += sum(a * b for a, b in values)
                wanted = n.bits_of(within(exact, total) if clamps else exact, total)
                return None if found["d"] & 0xffffffff == wanted else f"of {values}: {found['d']:#x}, and not {wanted:#x}"
            bits = lambda word: f"[{word & 1},{word >> 1}"
            code = f"{name} v16, v10, v12, v14 op_sel:{bits(low)},0] op_sel_hi:{bits(high)},1]"
            if neg_low or neg_high:
                code += f" neg_lo:{bits(neg_low)},0] neg_hi:{bits(neg_high)},0]"
            yield (name, code + (" clamp" if clamps else ""), check,
                   ["pair", "pair", "f32", "b64"] if kind == "f16" else ["b32"] * 3 + ["b64"], False)
    for name in ("v_dot4_i32_i8", "v_dot4_u32_u8", "v_dot8_i32_i4", "v_dot8_u32_u4"):
        yield name, f"{name} v16, v10, v12, v14 op_sel:[1,0,0]", None, ["b64"] * 4, True
    for name in ("v_dot2_i32_i16", "v_dot2_u32_u16", "v_dot4_i32_i8", "v_dot4_u32_u8", "v_dot8_i32_i4", "v_dot8_u32_u4"):
        yield name, f"{name} v16, v10, v12, v14 neg_lo:[1,0,0]", None, ["b64"] * 4, True


def carry_kernels(carries, carry_in):
    """Sums with carries that stay within their range."""
    start = f"s_mov_b32 vcc_lo, {carry_in & 0xffffffff:#x}\ns_mov_b32 vcc_hi, {carry_in >> 32:#x}\n"
    for name, function in carries.items():
        def check(inputs, found, lane, function=function):
            exact = function(inputs[0], inputs[2], carry_in >> lane & 1)
            wanted = n.clamped(exact, 0, 0xffffffff)
            return None if found["d"] & 0xffffffff == wanted else f"{found['d']:#x}, and not {wanted:#x}"
        end = ", vcc" if name in ("v_addc_co_u32", "v_subb_co_u32", "v_subbrev_co_u32") else ""
        yield name, start + f"{name}_e64 v16, vcc, v10, v12{end} clamp", check, ["b64"] * 4, False
