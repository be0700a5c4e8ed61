"""Kernels of instructions that move data, control the wave or do nothing, each with the expected memory contents.
s[0:1] points to the argument, a pointer to BYTES of memory, whose first words are given."""
import random
from fractions import Fraction

import numbers_of_registers as n

OUT = 8192  # where kernels write, in bytes
START = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
M16, M32 = 0xffff, (1 << 32) - 1


def words(seed, count):
    rng = random.Random(seed)
    return [rng.getrandbits(32) for _ in range(count)]


def dump(registers, at=OUT):
    """Consecutive scalar registers."""
    return "".join(f"v_mov_b32 v2, {register}\nv_mov_b32 v3, {at + 4 * i}\nglobal_store_dword v3, v2, s[4:5]\n"
                   for i, register in enumerate(registers))


def leaves(wanted, at=OUT):
    def check(before, after):
        expected = wanted(before) if callable(wanted) else wanted
        found = list(after[at // 4:at // 4 + len(expected)])
        return None if found == list(expected) else \
            f"{[hex(word) for word in found]}, and not {[hex(word) for word in expected]}"
    return check


def kernel(instruction, code, check, inputs=None, **more):
    return {"instruction": instruction, "code": START + code, "check": check, "inputs": inputs or [0], **more}


def scalars(first, count):
    return f"s{first}" if count == 1 else f"s[{first}:{first + count - 1}]"


def vectors(first, count):
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def suffix(count):
    return "dword" if count == 1 else f"dwordx{count}"


def buffer(records, stride=0, word3=0):
    return (f"s_mov_b32 s8, s4\ns_or_b32 s9, s5, {stride << 16:#x}\ns_mov_b32 s10, {records}\n"
            f"s_mov_b32 s11, {word3:#x}\n")


def scalar_memory():
    given = words("scalar", 64)
    for count in (1, 2, 4, 8, 16):
        code = f"s_load_{suffix(count)} {scalars(16, count)}, s[4:5], 0x40\ns_waitcnt lgkmcnt(0)\n"
        yield kernel(f"s_load_{suffix(count)}", code + dump([f"s{16 + i}" for i in range(count)]),
                     leaves(given[16:16 + count]), given)
        # The last dword is past the end, except for single ones.
        end = 0x40 + 4 * max(1, count - 1)
        code = buffer(end) + f"s_buffer_load_{suffix(count)} {scalars(16, count)}, s[8:11], 0x40\ns_waitcnt lgkmcnt(0)\n"
        inside = max(1, count - 1)
        yield kernel(f"s_buffer_load_{suffix(count)}", code + dump([f"s{16 + i}" for i in range(count)]),
                     leaves(given[16:16 + inside] + [0] * (count - inside)), given)
    for count in (1, 2, 4):
        load = f"s_load_dwordx4 s[16:19], s[4:5], 0x40\ns_movk_i32 s20, {OUT // 64}\ns_waitcnt lgkmcnt(0)\n"
        end = "s_dcache_wb\n"
        data = scalars(16, count)
        kept = leaves(given[16:16 + count] + [0])
        yield kernel(f"s_store_{suffix(count)}", load + f"s_store_{suffix(count)} {data}, s[4:5], {OUT:#x}\n" + end, kept, given)
        yield kernel(f"s_buffer_store_{suffix(count)}", buffer(OUT + 4 * count) + load +
                     f"s_buffer_store_{suffix(count)} {data}, s[8:11], {OUT:#x}\n" + end, kept, given)
        # A register's offset is in units of 64 bytes.
        yield kernel(f"s_scratch_store_{suffix(count)}", load + f"s_scratch_store_{suffix(count)} {data}, s[4:5], s20\n"
                     + end, kept, given)
        yield kernel(f"s_scratch_load_{suffix(count)}", "s_mov_b32 s20, 2\n"
                     f"s_scratch_load_{suffix(count)} {data}, s[4:5], s20\ns_waitcnt lgkmcnt(0)\n" +
                     dump([f"s{16 + i}" for i in range(count)]), leaves(given[32:32 + count]), given)


SET = "".join(f"s_mov_b32 s{20 + i}, {0x1111 * (i + 1):#x}\n" for i in range(8))


def control():
    nothing = ["s_setprio 2", "s_icache_inv", "s_wakeup", "s_incperflevel 1", "s_decperflevel 1", "s_ttracedata",
               "s_dcache_inv", "s_dcache_inv_vol", "s_dcache_wb", "s_dcache_wb_vol", "s_setkill 0", "s_sethalt 0",
               "s_cbranch_cdbgsys 1f", "s_cbranch_cdbguser 1f", "s_cbranch_cdbgsys_or_user 1f",
               "s_cbranch_cdbgsys_and_user 1f", "s_nop 3", "s_sleep 1", "buffer_wbinvl1", "buffer_wbinvl1_vol",
               "buffer_wbl2", "buffer_invl2", "s_atc_probe 3, s[4:5], 0x0", "s_atc_probe_buffer 3, s[8:11], 0x0",
               "s_dcache_discard s[4:5], 0x0", "s_dcache_discard_x2 s[4:5], 0x0", "ds_nop"]
    seen = [f"s{20 + i}" for i in range(8)] + ["exec_lo", "exec_hi", "vcc_lo", "s30"]
    for line in nothing:
        code = buffer(64) + SET + "s_mov_b64 vcc, 5\ns_cmp_eq_u32 s20, s20\n" + line + \
            "\ns_cselect_b32 s30, 7, 8\ns_branch 2f\n1:\ns_mov_b32 s20, 0\n2:\n"
        yield kernel(line.split()[0], code + dump(seen), leaves([0x1111 * (i + 1) for i in range(8)] + [M32, M32, 5, 7]))
    for name in ("s_endpgm_saved", "s_endpgm_ordered_ps_done"):
        yield kernel(name, SET + dump(["s20"]) + name + "\n" + dump(["s21"]), leaves([0x1111]))
    yield kernel("s_memtime", "s_memtime s[20:21]\ns_nop 0\ns_memtime s[22:23]\ns_waitcnt lgkmcnt(0)\n"
                 "s_sub_u32 s24, s22, s20\ns_subb_u32 s25, s23, s21\ns_cmp_lg_u64 s[24:25], 0\ns_cselect_b32 s26, 1, 0\n"
                 "s_cmp_lt_u32 s25, 1\ns_cselect_b32 s27, 1, 0\n" + dump(["s26", "s27"]), leaves([1, 1]))
    yield kernel("s_call_b64", SET + "s_getpc_b64 s[22:23]\ns_call_b64 s[20:21], 1f\ns_mov_b32 s24, 1\n1:\n"
                 "s_sub_u32 s20, s20, s22\ns_subb_u32 s21, s21, s23\n" + dump(["s20", "s21", "s24"]),
                 leaves([4, 0, 0x5555]))
    move = SET + "s_mov_b32 m0, 4\n"
    yield kernel("s_movrels_b32", move + "s_movrels_b32 s30, s21\n" + dump(["s30"]), leaves([0x6666]))
    yield kernel("s_movrels_b64", move + "s_movrels_b64 s[30:31], s[20:21]\n" + dump(["s30", "s31"]),
                 leaves([0x5555, 0x6666]))
    yield kernel("s_movreld_b32", move + "s_movreld_b32 s21, s20\n" + dump(["s25", "s21"]), leaves([0x1111, 0x2222]))
    yield kernel("s_movreld_b64", move + "s_movreld_b64 s[22:23], s[20:21]\n" + dump(["s26", "s27", "s22"]),
                 leaves([0x1111, 0x2222, 0x3333]))
    rows = "".join(f"v_mov_b32 v{10 + i}, {100 + i}\nv_mov_b32 v{16 + i}, 0\n" for i in range(4))
    index = rows + "s_mov_b32 s20, 2\ns_mov_b32 s21, 1\ns_set_gpr_idx_on s20, gpr_idx(SRC0)\nv_mov_b32 v16, v10\n"
    end = "s_set_gpr_idx_off\n" + "".join(f"v_readfirstlane_b32 s{24 + i}, v{16 + i}\n" for i in range(4)) + \
        dump([f"s{24 + i}" for i in range(4)])
    yield kernel("s_set_gpr_idx_on", index + end, leaves([102, 0, 0, 0]))
    yield kernel("s_set_gpr_idx_idx", index + "s_set_gpr_idx_idx s21\nv_mov_b32 v17, v10\n" + end, leaves([102, 101, 0, 0]))
    # The same with a literal, whose lowest byte counts.
    yield kernel("s_set_gpr_idx_on", rows + "s_set_gpr_idx_on 0x12302, gpr_idx(SRC0)\nv_mov_b32 v16, v10\n" + end,
                 leaves([102, 0, 0, 0]))
    yield kernel("s_set_gpr_idx_idx", index + "s_set_gpr_idx_idx 0x12301\nv_mov_b32 v17, v10\n" + end,
                 leaves([102, 101, 0, 0]))
    yield kernel("s_setvskip", rows + "s_setvskip 0x12345678, 3\nv_mov_b32 v16, v10\ns_setvskip 0x12345678, 2\n"
                 "v_mov_b32 v17, v10\n" + end, leaves([0, 100, 0, 0]))
    yield kernel("s_set_gpr_idx_mode", index + "s_set_gpr_idx_mode gpr_idx(DST)\nv_mov_b32 v16, v10\n" + end,
                 leaves([102, 0, 100, 0]))
    for line, text in (("s_sethalt 1", "it halts"), ("s_sendmsghalt sendmsg(MSG_INTERRUPT)", "it halts"),
                       ("s_rfe_restore_b64 s[20:21], s22", "s_rfe_restore_b64"), ("s_trap 3", "trap 3")):
        yield kernel(line.split()[0], SET + dump(["s20"]) + line + "\n" + dump(["s21"]), leaves([0x1111]), fails=text)


LANES = ("v_lshlrev_b32 v9, 2, v0\nv_mov_b32 v5, 0\nv_lshlrev_b32 v6, 4, v0\ns_mov_b32 m0, -1\n")


def store_lanes(registers, at=OUT):
    """Stores each register as a row: one dword per lane."""
    return "".join(f"v_add_u32 v8, {at + 256 * i}, v9\nglobal_store_dword v8, {register}, s[4:5]\n"
                   for i, register in enumerate(registers))


def of_lanes(*functions):
    return leaves([function(lane) & M32 for function in functions for lane in range(64)])


def local_memory():
    data = LANES + "v_mul_u32_u24 v10, 7, v0\n"
    wait = "s_waitcnt lgkmcnt(0)\n"
    yield kernel("ds_permute_b32", data + "v_mul_u32_u24 v11, 20, v0\nds_permute_b32 v16, v11, v10 offset:12\n" + wait +
                 store_lanes(["v16"]), of_lanes(lambda lane: (lane - 3) * 13 % 64 * 7))
    # Two lanes write to each lane of the first half: the later one wins.
    yield kernel("ds_permute_b32", data + "v_lshrrev_b32 v11, 1, v0\nv_lshlrev_b32 v11, 2, v11\n"
                 "ds_permute_b32 v16, v11, v10\n" + wait + store_lanes(["v16"]),
                 of_lanes(lambda lane: 7 * (2 * lane + 1) if lane < 32 else 0))
    for name, sign in (("ds_append", 1), ("ds_consume", -1)):
        code = LANES + "v_mov_b32 v10, 64\nv_mov_b32 v11, 0x64\nv_mov_b32 v16, 1\nds_write_b32 v10, v11 offset:8\n" \
            f"s_mov_b32 m0, 64\ns_mov_b32 exec_lo, 0xf0f\ns_mov_b32 exec_hi, 0\n{name} v16 offset:8\n" + wait + \
            "s_mov_b64 exec, -1\ns_mov_b32 m0, -1\nds_read_b32 v17, v10 offset:8\n" + wait + store_lanes(["v16", "v17"])
        yield kernel(name, code, of_lanes(lambda lane: 100 if 0xf0f >> lane & 1 else 1, lambda lane, s=sign: 100 + 8 * s))
    # Lanes in a row; in the second kernel the upper half is past the end of LDS, which has 16384
    # bytes.
    for count in (1, 2, 3, 4):
        for at in (512, 16384 - 32 * 4 * count):
            code = LANES + "".join(f"v_add_u32 v{10 + i}, {1000 * (i + 1)}, v0\nv_mov_b32 v{18 + i}, 7\n" for i in range(count)) \
                + f"v_mul_u32_u24 v7, {4 * count}, v0\nv_add_u32 v7, {at - 64}, v7\n" \
                f"ds_write_b{32 * count} v7, {vectors(10, count)} offset:64\n" \
                f"ds_read_b{32 * count} {vectors(18, count)}, v7 offset:64\n" + wait
            yield kernel(f"ds_read_b{32 * count}", code + store_lanes([f"v{18 + i}" for i in range(count)]),
                         of_lanes(*(lambda lane, i=i, at=at: 1000 * (i + 1) + lane if at == 512 or lane < 32 else 0
                                    for i in range(count))))
    numbers = [f"v_add_u32 v{10 + i}, {1000 * (i + 1)}, v0\n" for i in range(8)]
    start = LANES + "".join(numbers)
    number = lambda i: lambda lane: 1000 * (i + 1) + lane
    for stride, name in ((1, "2"), (64, "2st64")):
        # The lanes' addresses are 8, or 16, bytes apart, so that the places of two lanes never
        # overlap.
        code = start + f"v_lshlrev_b32 v7, 3, v0\nds_write{name}_b32 v7, v10, v11 offset0:0 offset1:{129 if stride == 1 else 8}\n" \
            f"ds_wrxchg{name}_rtn_b32 v[18:19], v7, v12, v13 offset0:0 offset1:{129 if stride == 1 else 8}\n" \
            f"ds_read{name}_b32 v[20:21], v7 offset0:0 offset1:{129 if stride == 1 else 8}\n" + wait
        yield kernel(f"ds_wrxchg{name}_rtn_b32", code + store_lanes([f"v{18 + i}" for i in range(4)]),
                     of_lanes(*map(number, range(4))))
        offset = 131 if stride == 1 else 4
        code = start + f"v_lshlrev_b32 v7, 4, v0\nds_write{name}_b64 v7, v[10:11], v[12:13] offset0:0 offset1:{offset}\n" \
            f"ds_wrxchg{name}_rtn_b64 v[18:21], v7, v[14:15], v[16:17] offset0:0 offset1:{offset}\n" \
            f"ds_read{name}_b64 v[22:25], v7 offset0:0 offset1:{offset}\n" + wait
        yield kernel(f"ds_wrxchg{name}_rtn_b64", code + store_lanes([f"v{18 + i}" for i in range(8)]),
                     of_lanes(*map(number, range(8))))


# Data formats: number, bits of X, Y, Z, W. Number formats by number.
FORMATS = {"16": (2, [16]), "32": (4, [32]), "8_8": (3, [8, 8]), "16_16": (5, [16, 16]), "32_32": (11, [32, 32]),
           "2_10_10_10": (8, [2, 10, 10, 10]), "10_11_11": (6, [11, 11, 10]), "32_32_32": (13, [32] * 3),
           "8_8_8_8": (10, [8] * 4), "16_16_16_16": (12, [16] * 4), "32_32_32_32": (14, [32] * 4)}
NUMBERS = {"UNORM": 0, "SNORM": 1, "USCALED": 2, "SSCALED": 3, "UINT": 4, "SINT": 5, "FLOAT": 7}
TRIED = {1: [("16", "SNORM"), ("32", "FLOAT"), ("16", "UINT")], 2: [("8_8", "SNORM"), ("16_16", "FLOAT"), ("32_32", "SINT")],
         3: [("32_32_32", "FLOAT"), ("8_8_8_8", "USCALED"), ("16_16_16_16", "SINT")],
         4: [("8_8_8_8", "UNORM"), ("16_16_16_16", "FLOAT"), ("16_16_16_16", "SSCALED"), ("32_32_32_32", "UINT")]}


def decoded(raw, bits, number):
    """A component's value: an integer, or a fraction or float."""
    signed = n.value_of(raw, f"i{bits}")
    return {"UNORM": lambda: Fraction(raw, (1 << bits) - 1),
            "SNORM": lambda: max(Fraction(-1), Fraction(signed, (1 << bits - 1) - 1)),
            "USCALED": lambda: Fraction(raw), "SSCALED": lambda: Fraction(signed), "UINT": lambda: raw, "SINT": lambda: signed,
            "FLOAT": lambda: n.value_of(raw, f"f{bits}")}[number]()


def encoded(value, bits, number):
    """The inverse, for a float or an integer; values that are too large saturate."""
    if number == "FLOAT":
        return n.bits_of(n.rounded(value, f"f{bits}"), f"f{bits}")
    most, most_signed = (1 << bits) - 1, (1 << bits - 1) - 1
    if number == "UINT":
        return min(value & M32, most)
    low, high, scale = {"UNORM": (0, 1, most), "SNORM": (-1, 1, most_signed), "USCALED": (0, most, 1),
                        "SSCALED": (-most_signed - 1, most_signed, 1), "SINT": (-most_signed - 1, most_signed, 1)}[number]
    return round(Fraction(n.clamped(value, low, high)) * scale) & most


def register_bits(value, number, is_16):
    if number in ("UINT", "SINT"):
        return value & (M16 if is_16 else M32)
    kind = "f16" if is_16 else "f32"
    # Through an f32: a half is converted from a value that was already rounded.
    return n.bits_of(n.rounded(n.rounded(value, "f32"), kind), kind)


def components(element, bits):
    made, at = [], 0
    for width in bits:
        made.append(element >> at & (1 << width) - 1)
        at += width
    return made


def elements(format_name, number, seed):
    """64 elements of 16 bytes: numbers that are neither NaN nor denormal."""
    rng, made = random.Random(seed), []
    for _ in range(64):
        element, at = 0, 0
        for bits in FORMATS[format_name][1]:
            raw = rng.choice([rng.getrandbits(bits), 0, (1 << bits) - 1, 1 << bits - 1])
            if number == "FLOAT":
                raw = n.bits_of(n.rounded(rng.uniform(-2, 2) * 2.0 ** rng.uniform(-4, 4), f"f{bits}"), f"f{bits}")
            element |= raw << at
            at += bits
        made += [element >> 32 * i & M32 for i in range(4)]
    return made


def given_values(number, is_16, count, seed):
    """64 lanes of `count` values, as dwords in register layout."""
    rng, made = random.Random(seed), []
    for _ in range(64):
        bits = 16 if is_16 else 32
        if number in ("UINT", "SINT"):
            values = [rng.choice([rng.getrandbits(bits), rng.randrange(300), -rng.randrange(300) & (1 << bits) - 1])
                      for _ in range(count)]
        else:
            span = 1.5 if number in ("UNORM", "SNORM") else 300
            values = [n.bits_of(n.rounded(rng.choice([rng.uniform(-span, span), 0.5, 1.0]), f"f{bits}"), f"f{bits}")
                      for _ in range(count)]
        packed = [values[i] | (values[i + 1] << 16 if i + 1 < count else 0) for i in range(0, count, 2)] if is_16 else values
        made += packed + [0] * (4 - len(packed))
    return made


def typed_buffers():
    for is_typed in (False, True):
        for count, tried in TRIED.items():
            for format_name, number in tried:
                for is_16 in (False, True):
                    if is_16 and "32" in format_name and number in ("UINT", "SINT"):
                        continue  # the new value of the upper halves is not documented
                    yield from format_kernels(is_typed, count, format_name, number, is_16)


def format_kernels(is_typed, count, format_name, number, is_16):
    prefix = "tbuffer" if is_typed else "buffer"
    name = f"{prefix}_%s_format_{'d16_' if is_16 else ''}{'xyzw'[:count]}"
    data_format, bits = FORMATS[format_name]
    word3 = 0 if is_typed else data_format << 15 | NUMBERS[number] << 12 | 7 << 9 | 6 << 6 | 5 << 3 | 4
    form = f" format:[BUF_DATA_FORMAT_{format_name},BUF_NUM_FORMAT_{number}]" if is_typed else ""
    registers = (count + 1) // 2 if is_16 else count
    data = f"v[16:{15 + registers}]" if registers > 1 else "v16"
    start = LANES + "".join(f"v_mov_b32 v{16 + i}, 0\n" for i in range(4))
    seed = f"{name} {format_name} {number}"
    # 60 records: reads past them return zero, and writes are dropped.
    load = start + buffer(60, 16, word3) + f"{name % 'load'} {data}, v0, s[8:11], 0{form} idxen\ns_waitcnt vmcnt(0)\n" + \
        f"v_add_u32 v8, {OUT}, v6\nglobal_store_dwordx4 v8, v[16:19], s[4:5]\n"
    inputs = elements(format_name, number, seed)

    def loaded(before):
        made = []
        for lane in range(64):
            element = sum(before[4 * lane + i] << 32 * i for i in range(4))
            values = [register_bits(decoded(raw, width, number), number, is_16)
                      for raw, width in zip(components(element, bits), bits)][:count]
            words_ = [sum(v << 16 * j for j, v in enumerate(values[i:i + 2])) for i in range(0, count, 2)] if is_16 else values
            made += (words_ if lane < 60 else [0] * len(words_)) + [0] * (4 - len(words_))
        return made

    yield kernel(name % "load", load, leaves(loaded), inputs)
    store = start + f"global_load_dwordx4 v[16:19], v6, s[4:5]\ns_waitcnt vmcnt(0)\ns_add_u32 s4, s4, {OUT}\n" \
        "s_addc_u32 s5, s5, 0\n" + buffer(60, 16, word3) + f"{name % 'store'} {data}, v0, s[8:11], 0{form} idxen\n"

    def stored(before):
        made = []
        for lane in range(64):
            row = before[4 * lane:4 * lane + 4]
            values = [row[i // 2] >> 16 * (i % 2) & M16 for i in range(count)] if is_16 else list(row[:count])
            kind = ("i" if number == "SINT" else "u" if number == "UINT" else "f") + ("16" if is_16 else "32")
            values = [n.value_of(value, kind) for value in values]
            values += [values[0]] * (len(bits) - count)
            element, at = 0, 0
            for value, width in zip(values, bits):
                element |= encoded(value, width, number) << at
                at += width
            made += [element >> 32 * i & M32 if lane < 60 else 0 for i in range(4)]
        return made

    yield kernel(name % "store", store, leaves(stored), given_values(number, is_16, count, seed))


def global_sync():
    """A single wave passes a barrier of one, and acquires a semaphore that it has released."""
    start = "s_mov_b32 m0, 0\nv_mov_b32 v2, 0\nv_mov_b32 v4, 2\n"
    barrier = start + "ds_gws_init v2 offset:5 gds\nds_gws_barrier v2 offset:5 gds\n" + dump(["5"])
    semaphore = start + "ds_gws_init v2 offset:6 gds\nds_gws_sema_v offset:6 gds\nds_gws_sema_p offset:6 gds\n" \
        "ds_gws_sema_br v4 offset:6 gds\nds_gws_sema_p offset:6 gds\nds_gws_sema_p offset:6 gds\n" + dump(["9"])
    for name in ("ds_gws_init", "ds_gws_barrier"):
        yield kernel(name, barrier, leaves([5]))
    for name in ("ds_gws_sema_v", "ds_gws_sema_p", "ds_gws_sema_br"):
        yield kernel(name, semaphore, leaves([9]))
    yield kernel("ds_gws_sema_release_all", "s_mov_b32 m0, 0\nds_gws_sema_release_all offset:6 gds\n" + dump(["3"]), leaves([3]))


def kernels():
    return [*scalar_memory(), *control(), *local_memory(), *typed_buffers(), *global_sync()]
