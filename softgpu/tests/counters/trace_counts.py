"""Derives counters from a trace of instructions (isa/README.md). Written from the counters' rules and AMD's names
only: nothing here is shared with the engine."""
import collections
import re

ENGINES, UNITS = 8, 110
EACH = collections.Counter

FORMATS_OF_SALU = re.compile(r"s_(?!nop|endpgm|branch|cbranch_(?!g_fork|i_fork|join)|barrier|setkill|waitcnt|sethalt|sleep|setprio|"
                             r"sendmsg|trap|icache_inv|incperflevel|decperflevel|ttracedata|set_gpr_idx_(off|mode)|"
                             r"wakeup|endpgm_)")
SMEM = re.compile(r"s_(load|store|buffer|scratch|dcache|mem(real)?time|atc|atomic)")
MATRIX = re.compile(r"v_mfma_\w+?_(\d+)x(\d+)x(\d+)(i8|bf16|f16|f32|f64)(_1k)?$")
# How many products a matrix instruction computes at once, by rows, depth and type.
BLOCKS = {(32, 1, "f32"): 2, (32, 2, "f32"): 1, (16, 1, "f32"): 4, (16, 4, "f32"): 1, (4, 1, "f32"): 16,
          (32, 4, "f16"): 2, (32, 8, "f16"): 1, (16, 4, "f16"): 4, (16, 16, "f16"): 1, (4, 4, "f16"): 16,
          (32, 2, "bf16"): 2, (32, 4, "bf16"): 1, (16, 2, "bf16"): 4, (16, 8, "bf16"): 1, (4, 2, "bf16"): 16,
          (32, 4, "bf16_1k"): 2, (32, 8, "bf16_1k"): 1, (16, 4, "bf16_1k"): 4, (16, 16, "bf16_1k"): 1,
          (4, 4, "bf16_1k"): 16, (32, 4, "i8"): 2, (32, 8, "i8"): 1, (16, 4, "i8"): 4, (16, 16, "i8"): 1,
          (4, 4, "i8"): 16, (16, 4, "f64"): 1, (4, 4, "f64"): 4}
VERBS = [("ADD", r"(pk_)?(add|sub|subrev)_(f\d+)$"), ("MUL", r"(pk_)?mul_(legacy_)?(f\d+)$"),
         ("FMA", r"(pk_)?(fma|fmac|fmamk|fmaak|mac|mad|madmk|madak|div_fmas|fma_mix|fma_mixlo|fma_mixhi|"
                 r"mad_mix|mad_mixlo|mad_mixhi|mad_legacy|fma_legacy)_(f\d+)$"),
         ("TRANS", r"(rcp|rcp_iflag|rsq|sqrt|exp|exp_legacy|log|log_legacy|sin|cos)_(f\d+)$")]


def matrix(match, seen):
    rows, columns, depth, kind, variant = match.groups()
    name = kind.upper()
    blocks = BLOCKS[int(rows), int(depth), kind + (variant or "")]
    seen["SQ_INSTS_MFMA"] += 1
    seen[f"SQ_INSTS_VALU_MFMA_{name}"] += 1
    seen[f"SQ_INSTS_VALU_MFMA_MOPS_{name}"] += 2 * int(rows) * int(columns) * int(depth) * blocks // 512


def vector(name, lanes, seen):
    seen["SQ_INSTS_VALU"] += 1
    slow = name in ("v_mul_lo_u32", "v_mul_hi_u32", "v_mul_hi_i32", "v_mad_u64_u32", "v_mad_i64_i32")
    found = MATRIX.match(name)
    if found:
        matrix(found, seen)
    elif name.startswith("v_cvt_"):
        seen["SQ_INSTS_VALU_CVT"] += 1
    else:
        for verb, pattern in VERBS:
            operation = re.match("v_" + pattern, name)
            if operation:
                seen[f"SQ_INSTS_VALU_{verb}_{operation.groups()[-1].upper()}"] += 1
                slow |= verb == "TRANS"
        types = [word for word in name.split("_") if re.fullmatch(r"[iufb]\d\d?", word)]
        if types and types[0] in ("i32", "u32", "i24", "u24"):
            seen["SQ_INSTS_VALU_INT32"] += 1
        if types and types[0] in ("i64", "u64"):
            seen["SQ_INSTS_VALU_INT64"] += 1
    seen["SQ_ACTIVE_INST_VALU"] += 4 if slow else 1
    seen["SQ_THREAD_CYCLES_VALU"] += (4 if slow else 1) * lanes


def scalar_memory(name, seen):
    seen["SQ_INSTS_SMEM"] += 1
    seen["SQ_INSTS_SMEM_NORM"] += 4 if "dcache" in name else 2
    width = re.match(r"s_(?:buffer_|scratch_)?(load|store)_dword(?:x(\d+))?$", name)
    if width:
        seen["SQC_DCACHE_REQ"] += 1
        if width.group(1) == "load":
            seen[f"SQC_DCACHE_REQ_READ_{width.group(2) or 1}"] += 1
    elif "atomic" in name:
        seen["SQC_DCACHE_REQ"] += 1
        seen["SQC_DCACHE_ATOMIC"] += 1


def width_of(name):
    """Bytes per lane and place."""
    if name.startswith("ds_"):
        bits = [int(n) for n in re.findall(r"_[biuf](\d+)", name)]
        return bits[0] // 8 if bits else 4
    for pattern, count in (("byte", 1), ("short", 2), ("dwordx2", 8), ("dwordx3", 12), ("dwordx4", 16)):
        if pattern in name:
            return count
    return 8 if name.endswith(("_x2", "_f64")) else 4


def lds(addresses, lanes, name, seen):
    """{lane: address}."""
    dwords = (width_of(name) + 3) // 4
    together = {1: 32, 2: 16, 3: 8, 4: 8}[dwords]
    for first in range(0, 64, together):
        wanted = {address // 4 + d for lane, address in zip(lanes, addresses)
                  if first <= lane < first + together for d in range(dwords)}
        if wanted:
            most = max(collections.Counter(dword % 32 for dword in wanted).values())
            seen["SQ_LDS_IDX_ACTIVE"] += most
            seen["SQ_LDS_BANK_CONFLICT"] += most - 1


def vector_memory(name, has_result, places, lanes, seen):
    is_buffer = name.startswith(("buffer_", "tbuffer_"))
    seen["SQ_INSTS_VMEM"] += 1
    if not is_buffer:
        seen["SQ_INSTS_FLAT"] += 1
    if name.startswith("flat_"):
        seen["SQ_INSTS_LDS"] += 1
        inside = [(lane, address & 0xffffffff) for lane, address in zip(lanes, places[0] if places else [])
                  if address >> 32 == 0x10000]
        seen["SQ_INSTS_FLAT_LDS_ONLY"] += bool(inside) and len(inside) == len(lanes)
        lds([address for _, address in inside], [lane for lane, _ in inside], name, seen)
    if name in ("buffer_wbl2", "buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol"):
        return
    what = "ATOMIC" if "_atomic_" in name else "READ" if "_load_" in name else "WRITE"
    part = "BUFFER" if is_buffer else "FLAT"
    seen["SQ_INSTS_VMEM_RD" if what == "READ" or (what == "ATOMIC" and has_result) else "SQ_INSTS_VMEM_WR"] += 1
    for counter in ("TA_TOTAL_WAVEFRONTS", f"TA_{part}_WAVEFRONTS", f"TA_{part}_{what}_WAVEFRONTS",
                    "TD_LOAD_WAVEFRONT"):
        seen[counter] += 1
    if what != "READ":
        seen["TD_ATOMIC_WAVEFRONT" if what == "ATOMIC" else "TD_STORE_WAVEFRONT"] += 1


def instruction(words, seen):
    """One line: WAVE PC EXEC NAME [glc] [ADDRESS,...[;ADDRESS,...]]"""
    active = int(words[2], 16)
    lanes = [lane for lane in range(64) if active >> lane & 1]
    name = words[3]
    places = [[int(a, 16) for a in place.split(",")] for word in words[4:] if word not in ("glc", "gds")
              for place in word.split(";")]
    seen["SQ_INSTS"] += 1
    if name.startswith("v_"):
        vector(name, len(lanes), seen)
    elif SMEM.match(name):
        scalar_memory(name, seen)
    elif name.startswith("s_"):
        seen["SQ_INSTS_SALU"] += bool(FORMATS_OF_SALU.match(name))
        seen["SQ_INSTS_BRANCH"] += bool(re.match(r"s_branch|s_cbranch_(?!g_fork|i_fork|join)", name))
        seen["SQ_INSTS_SENDMSG"] += name in ("s_sendmsg", "s_sendmsghalt")
    elif name.startswith("ds_") and "gds" in words[4:]:
        seen["SQ_INSTS_GDS"] += 1
        seen["SQ_INSTS_EXP_GDS"] += 1
    elif name.startswith("ds_"):
        seen["SQ_INSTS_LDS"] += 1
        for place in places:
            lds(place, lanes, name, seen)
    else:
        vector_memory(name, "glc" in words[4:], places, lanes, seen)


def wave(items, seen):
    for counter in ("SQ_WAVES", "SPI_CSN_WAVE"):
        seen[counter] += 1
    seen["SQ_ITEMS"] += items
    seen["SQ_WAVES_EQ_64"] += items == 64
    for limit in (64, 48, 32, 16):
        seen[f"SQ_WAVES_LT_{limit}"] += items < limit


def counts(path):
    """{kernel: {(counter, engine, unit): value}}; the unit of SQ and SPI is always 0."""
    totals = collections.defaultdict(collections.Counter)
    with open(path) as lines:
        next(lines)
        for line in lines:
            kind, *words = line.split()
            if kind == "g":
                group, kernel, fetched = int(words[1]), words[2], {}
                engine, unit = group % UNITS % ENGINES, group % UNITS // ENGINES
                seen = collections.Counter({"SPI_CSN_NUM_THREADGROUPS": 1})
            else:
                seen = collections.Counter()
                if kind == "w":
                    wave(int(words[1]), seen)
                else:
                    instruction(words, seen)
                    block = int(words[1], 16) // 32
                    if fetched.get(words[0]) != block:
                        fetched[words[0]] = block
                        seen["SQ_IFETCH"] += 1
                        seen["SQC_ICACHE_REQ"] += 1
            for counter, value in seen.items():
                place = 0 if counter.startswith(("SQ", "SPI")) else unit
                if value:
                    totals[kernel][counter, engine, place] += value
    return totals
