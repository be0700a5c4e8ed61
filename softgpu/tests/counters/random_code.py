"""Random kernels in assembly: loops, inactive lanes, and every kind of instruction that counters distinguish. Their
results mean nothing; only running them shows which instructions they execute."""
import random

ITEMS_OF_VALUES = [
    "v_add_f32 v{d}, v{a}, v{b}", "v_mul_f32 v{d}, v{a}, v{b}", "v_fma_f32 v{d}, v{a}, v{b}, v{c}",
    "v_fmac_f32 v{d}, v{a}, v{b}", "v_rcp_f32 v{d}, v{a}", "v_exp_f32 v{d}, v{a}", "v_sqrt_f32 v{d}, v{a}",
    "v_add_f16 v{d}, v{a}, v{b}", "v_mul_f16 v{d}, v{a}, v{b}", "v_fma_f16 v{d}, v{a}, v{b}, v{c}",
    "v_rcp_f16 v{d}, v{a}", "v_pk_add_f16 v{d}, v{a}, v{b}", "v_pk_fma_f16 v{d}, v{a}, v{b}, v{c}",
    "v_add_f64 v[{D}:{D1}], v[{A}:{A1}], v[{B}:{B1}]", "v_mul_f64 v[{D}:{D1}], v[{A}:{A1}], v[{B}:{B1}]",
    "v_fma_f64 v[{D}:{D1}], v[{A}:{A1}], v[{B}:{B1}], v[{A}:{A1}]", "v_rcp_f64 v[{D}:{D1}], v[{A}:{A1}]",
    "v_pk_mul_f32 v[{D}:{D1}], v[{A}:{A1}], v[{B}:{B1}]", "v_pk_mov_b32 v[{D}:{D1}], v[{A}:{A1}], v[{B}:{B1}]",
    "v_add_u32 v{d}, v{a}, v{b}", "v_mul_lo_u32 v{d}, v{a}, v{b}", "v_mul_hi_i32 v{d}, v{a}, v{b}",
    "v_mad_u32_u24 v{d}, v{a}, v{b}, v{c}", "v_mul_hi_u32_u24 v{d}, v{a}, v{b}", "v_min_i32 v{d}, v{a}, v{b}",
    "v_bfe_u32 v{d}, v{a}, 3, 5", "v_lshl_add_u32 v{d}, v{a}, 2, v{b}", "v_add3_u32 v{d}, v{a}, v{b}, v{c}",
    "v_cmp_gt_u32 vcc, v{a}, v{b}", "v_cmp_eq_u64 vcc, v[{A}:{A1}], v[{B}:{B1}]", "v_cmp_lt_f32 vcc, v{a}, v{b}",
    "v_mad_u64_u32 v[{D}:{D1}], vcc, v{a}, v{b}, v[{A}:{A1}]", "v_mov_b32 v{d}, v{a}", "v_xor_b32 v{d}, v{a}, v{b}",
    "v_lshlrev_b64 v[{D}:{D1}], 3, v[{A}:{A1}]", "v_cndmask_b32 v{d}, v{a}, v{b}, vcc", "v_perm_b32 v{d}, v{a}, v{b}, v{c}",
    "v_cvt_f32_u32 v{d}, v{a}", "v_cvt_i32_f32 v{d}, v{a}", "v_cvt_f16_f32 v{d}, v{a}", "v_readfirstlane_b32 s20, v{a}",
    "v_dot2_f32_f16 v{d}, v{a}, v{b}, v{c}", "v_frexp_exp_i32_f32 v{d}, v{a}", "v_fma_mix_f32 v{d}, v{a}, v{b}, v{c}",
    "v_add_f32_dpp v{d}, v{a}, v{b} row_shr:1 row_mask:0xf bank_mask:0xf", "v_pk_add_u16 v{d}, v{a}, v{b}",
    "v_add_u32_sdwa v{d}, v{a}, v{b} dst_sel:DWORD src0_sel:BYTE_0 src1_sel:WORD_1",
    "v_accvgpr_write_b32 a{d}, v{a}", "v_accvgpr_read_b32 v{d}, a{a}"]
MATRICES = ["v_mfma_f32_32x32x1f32 a[0:31], v{a}, v{b}, a[0:31]", "v_mfma_f32_4x4x1f32 a[0:3], v{a}, v{b}, a[0:3]",
            "v_mfma_f32_16x16x4f32 a[0:3], v{a}, v{b}, a[0:3]", "v_mfma_i32_16x16x4i8 a[0:15], v{a}, v{b}, a[0:15]",
            "v_mfma_f32_16x16x16f16 a[0:3], v[{A}:{A1}], v[{B}:{B1}], a[0:3]",
            "v_mfma_f32_32x32x4bf16_1k a[0:31], v[{A}:{A1}], v[{B}:{B1}], a[0:31]",
            "v_mfma_f64_16x16x4f64 a[0:7], v[{A}:{A1}], v[{B}:{B1}], a[0:7]"]
SCALARS = ["s_add_u32 s20, s21, s22", "s_mul_i32 s21, s20, s22", "s_lshl_b32 s22, s20, 3", "s_cmp_lt_u32 s20, s21",
           "s_and_b64 s[22:23], s[20:21], exec", "s_bfe_u32 s20, s21, 0x80004", "s_cselect_b32 s20, s21, s22",
           "s_movk_i32 s20, 0x123", "s_cmpk_eq_i32 s20, 5", "s_brev_b32 s20, s21", "s_nop 2", "s_waitcnt 0"]
SCALAR_LOADS = ["s_load_dword s20, s[4:5], 0x{o:x}", "s_load_dwordx2 s[20:21], s[4:5], 0x{o:x}",
                "s_load_dwordx4 s[24:27], s[4:5], 0x{o:x}", "s_load_dwordx8 s[24:31], s[4:5], 0x{o:x}",
                "s_load_dwordx16 s[24:39], s[4:5], 0x{o:x}", "s_memtime s[20:21]", "s_dcache_inv",
                "s_store_dword s20, s[4:5], 0x{o:x}", "s_store_dwordx2 s[20:21], s[4:5], 0x{o:x}", "s_dcache_wb",
                "s_atomic_add s20, s[4:5], 0x{o:x}", "s_atomic_umax_x2 s[20:21], s[4:5], 0x{o:x} glc",
                "s_atomic_cmpswap s[20:21], s[4:5], 0x{o:x} glc"]
# v50: an offset in memory; v[52:53]: an address; v54: an LDS address; v[56:57]: the same as a flat
# address.
MEMORY = ["global_load_dword v{d}, v50, s[4:5]", "global_load_dwordx4 v[40:43], v50, s[4:5]", "global_load_ubyte v{d}, v50, s[4:5]",
          "global_store_dwordx2 v50, v[{A}:{A1}], s[4:5]", "global_store_short v[52:53], v{a}, off",
          "global_atomic_add v50, v{a}, s[4:5]", "global_atomic_umax v{d}, v50, v{a}, s[4:5] glc",
          "flat_load_dwordx2 v[{D}:{D1}], v[52:53]", "flat_store_byte v[52:53], v{a}", "flat_atomic_or v[52:53], v{a}",
          "scratch_store_dword off, v{a}, s40 offset:16", "scratch_load_dwordx2 v[{D}:{D1}], off, s40 offset:24",
          "buffer_load_dwordx2 v[{D}:{D1}], v50, s[8:11], 0 offen", "buffer_store_dword v{a}, v50, s[8:11], 0 offen",
          "buffer_atomic_add v{d}, v50, s[8:11], 0 offen glc", "buffer_wbinvl1_vol"]
LOCAL = ["ds_read_b32 v{d}, v54", "ds_read_b64 v[{D}:{D1}], v54 offset:64", "ds_read_b128 v[40:43], v54", "ds_read_u8 v{d}, v54",
         "ds_write_b32 v54, v{a} offset:128", "ds_write_b64 v54, v[{A}:{A1}]", "ds_read2_b32 v[{D}:{D1}], v54 offset0:1 offset1:7",
         "ds_read2st64_b64 v[40:43], v54 offset0:0 offset1:2", "ds_write2_b64 v54, v[{A}:{A1}], v[{B}:{B1}] offset0:0 offset1:3",
         "ds_add_u32 v54, v{a}", "ds_max_rtn_u32 v{d}, v54, v{a}", "ds_add_rtn_u64 v[{D}:{D1}], v54, v[{A}:{A1}]",
         "ds_bpermute_b32 v{d}, v{a}, v{b}", "ds_swizzle_b32 v{d}, v{a} offset:swizzle(SWAP,1)",
         "flat_load_dword v{d}, v[56:57]", "flat_store_dwordx2 v[56:57], v[{A}:{A1}]", "flat_atomic_add v[56:57], v{a}"]
# v55: an offset in the global data share.
GLOBAL_SHARE = ["ds_add_u32 v55, v{a} gds", "ds_read_b32 v{d}, v55 gds", "ds_write_b64 v55, v[{A}:{A1}] gds",
                "ds_max_rtn_i32 v{d}, v55, v{a} gds", "ds_or_rtn_b64 v[{D}:{D1}], v55, v[{A}:{A1}] gds"]
START = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v50, {shift}, v0
s_waitcnt lgkmcnt(0)
s_mov_b64 s[8:9], s[4:5]
s_mov_b32 s10, 0x100000
s_mov_b32 s11, 0x27000
s_mov_b32 s40, 0
v_mov_b32 v53, s5
v_add_co_u32 v52, vcc, s4, v50
v_addc_co_u32 v53, vcc, 0, v53, vcc
v_mul_u32_u24 v54, {stride}, v0
v_and_b32 v54, 0x1ff8, v54
v_and_b32 v55, 0xff8, v50
s_mov_b32 m0, -1
v_mov_b32 v56, v54
v_mov_b32 v57, 0x10000
"""


def filled(text, rng):
    pair = {name: rng.randrange(2, 19) * 2 for name in "DAB"}
    return text.format(**{name: rng.randrange(4, 40) for name in "dabc"}, **pair, D1=pair["D"] + 1, A1=pair["A"] + 1,
                       B1=pair["B"] + 1, o=rng.randrange(0, 64) * 4)


def block(rng, depth, label):
    lines = []
    for _ in range(rng.randrange(4, 14)):
        kind = rng.choices(["value", "matrix", "scalar", "load", "memory", "local", "share", "loop", "branch"],
                           [10, 1, 4, 3, 3, 4, 1, 1 if depth else 0, 2 if depth else 0])[0]
        pool = {"value": ITEMS_OF_VALUES, "matrix": MATRICES, "scalar": SCALARS, "load": SCALAR_LOADS,
                "memory": MEMORY, "local": LOCAL, "share": GLOBAL_SHARE}.get(kind)
        if pool:
            lines.append(filled(rng.choice(pool), rng))
            continue
        label[0] += 1
        mark, counter, saved = label[0], 42 + depth, 44 + 4 * depth
        if kind == "loop":
            lines += [f"s_mov_b32 s{counter}, {rng.randrange(1, 5)}", f"{mark}:", *block(rng, depth - 1, label),
                      f"s_sub_u32 s{counter}, s{counter}, 1", f"s_cmp_lg_u32 s{counter}, 0", f"s_cbranch_scc1 {mark}b"]
        else:
            lines += [f"v_cmp_{rng.choice(['gt', 'le'])}_u32 vcc, {rng.randrange(0, 64)}, v0",
                      f"s_and_saveexec_b64 s[{saved}:{saved + 1}], vcc", f"s_cbranch_execz {mark}f",
                      *block(rng, depth - 1, label), f"{mark}:", f"s_mov_b64 exec, s[{saved}:{saved + 1}]"]
    return lines


def kernel(seed):
    rng = random.Random(seed)
    group = rng.choice([64, 64, 128, 200, 256])
    groups = rng.choice([1, 3, 9, 20])
    code = START.format(shift=rng.choice([2, 3, 4]), stride=rng.choice([4, 8, 12, 32, 128, 20]))
    return {"name": f"random_{seed}", "items": group * groups - rng.choice([0, 0, 5, 50]), "group": group,
            "code": code + "\n".join(block(rng, 2, [0])), "counts": {}}
