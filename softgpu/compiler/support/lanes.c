/* Instructions that exchange values between the lanes of a wave, or depend on the lane. */
#include "support.h"

static inline bool in(const Meeting* m, uint32_t lane) {
  return lane < SOFTGPU_MAX_WAVE && (m->active >> lane & 1);
}

uint32_t item_amdgcn_mbcnt_lo(Item* i, uint32_t mask, uint32_t base) {
  uint32_t below = i->lane >= 32 ? ~0u : (1u << i->lane) - 1;
  return base + (uint32_t)__builtin_popcount(mask & below);
}
uint32_t item_amdgcn_mbcnt_hi(Item* i, uint32_t mask, uint32_t base) {
  uint32_t below = i->lane < 32 ? 0 : (1u << (i->lane - 32)) - 1;
  return base + (uint32_t)__builtin_popcount(mask & below);
}

void lane_amdgcn_wave_barrier(Item* i, uint32_t site) { meet(i, site, 0, 0); }
void lane_softgpu_converge(Item* i, uint32_t site) { meet(i, site, 0, 0); }

/* Reads of the registers with these names. */
uint64_t lane_softgpu_exec(Item* i, uint32_t site) { return meet(i, site, 0, 0)->active; }
uint32_t lane_softgpu_exec_lo(Item* i, uint32_t site) {
  return (uint32_t)meet(i, site, 0, 0)->active;
}
uint32_t lane_softgpu_exec_hi(Item* i, uint32_t site) {
  return (uint32_t)(meet(i, site, 0, 0)->active >> 32);
}

/* Since LLVM 19 their names end with the type, which may be wider. */
#define ONE_LANE(SUFFIX, TYPE)                                                       \
  TYPE lane_amdgcn_readfirstlane##SUFFIX(Item* i, uint32_t site, TYPE v) {           \
    const Meeting* m = meet(i, site, v, 0);                                          \
    return (TYPE)m->a[__builtin_ctzll(m->active)];                                   \
  }                                                                                  \
  TYPE lane_amdgcn_readlane##SUFFIX(Item* i, uint32_t site, TYPE v, uint32_t from) { \
    return (TYPE)meet(i, site, v, 0)->a[from % SOFTGPU_MAX_WAVE];                    \
  }                                                                                  \
  TYPE item_amdgcn_writelane##SUFFIX(Item* i, TYPE v, uint32_t to, TYPE old) {       \
    return i->lane == to ? v : old;                                                  \
  }
ONE_LANE(, uint32_t)
ONE_LANE(_i32, uint32_t)
ONE_LANE(_i64, uint64_t)

uint64_t lane_amdgcn_ballot_i64(Item* i, uint32_t site, bool v) {
  return meet(i, site, v, 0)->ones;
}
uint32_t lane_amdgcn_ballot_i32(Item* i, uint32_t site, bool v) {
  return (uint32_t)meet(i, site, v, 0)->ones;
}

/* The third argument of comparisons is LLVM's predicate number. */
#define COMPARE_INT(A, B, SIGNED_A, SIGNED_B, P) \
  ((P) == 32   ? (A) == (B)                      \
   : (P) == 33 ? (A) != (B)                      \
   : (P) == 34 ? (A) > (B)                       \
   : (P) == 35 ? (A) >= (B)                      \
   : (P) == 36 ? (A) < (B)                       \
   : (P) == 37 ? (A) <= (B)                      \
   : (P) == 38 ? (SIGNED_A) > (SIGNED_B)         \
   : (P) == 39 ? (SIGNED_A) >= (SIGNED_B)        \
   : (P) == 40 ? (SIGNED_A) < (SIGNED_B)         \
               : (SIGNED_A) <= (SIGNED_B))
#define ICMP(RESULT, OUT, BITS)                                                     \
  OUT lane_amdgcn_icmp_##RESULT##_i##BITS(Item* i, uint32_t site, uint##BITS##_t a, \
                                          uint##BITS##_t b, uint32_t p) {           \
    bool v = COMPARE_INT(a, b, (int##BITS##_t)a, (int##BITS##_t)b, p);              \
    return (OUT)meet(i, site, v, 0)->ones;                                          \
  }
ICMP(i64, uint64_t, 16)
ICMP(i64, uint64_t, 32)
ICMP(i64, uint64_t, 64)
ICMP(i32, uint32_t, 16)
ICMP(i32, uint32_t, 32)
ICMP(i32, uint32_t, 64)
uint64_t lane_amdgcn_icmp_i64_i1(Item* i, uint32_t site, bool a, bool b, uint32_t p) {
  return meet(i, site, p == 33 ? a != b : a == b, 0)->ones;
}
uint32_t lane_amdgcn_icmp_i32_i1(Item* i, uint32_t site, bool a, bool b, uint32_t p) {
  return (uint32_t)meet(i, site, p == 33 ? a != b : a == b, 0)->ones;
}

/* Bits of an FP predicate: 1 equal, 2 greater, 4 less, 8 unordered. */
#define FCMP(RESULT, OUT, TYPE, SUFFIX)                                                          \
  OUT lane_amdgcn_fcmp_##RESULT##_##SUFFIX(Item* i, uint32_t site, TYPE a, TYPE b, uint32_t p) { \
    uint32_t is = a == b ? 1 : a > b ? 2 : a < b ? 4 : 8;                                        \
    return (OUT)meet(i, site, (p & is) != 0, 0)->ones;                                           \
  }
FCMP(i64, uint64_t, half, f16)
FCMP(i64, uint64_t, float, f32)
FCMP(i64, uint64_t, double, f64)
FCMP(i32, uint32_t, half, f16)
FCMP(i32, uint32_t, float, f32)
FCMP(i32, uint32_t, double, f64)

/* Addresses are in bytes, 4 per lane, modulo the wave's size. An inactive lane reads as 0. */
uint32_t lane_amdgcn_ds_bpermute(Item* i, uint32_t site, uint32_t address, uint32_t v) {
  return (uint32_t)meet(i, site, v, 0)->a[address / 4 % SOFTGPU_MAX_WAVE];
}
uint32_t lane_amdgcn_ds_permute(Item* i, uint32_t site, uint32_t address, uint32_t v) {
  const Meeting* m = meet(i, site, v, address / 4 % SOFTGPU_MAX_WAVE);
  for (uint32_t from = SOFTGPU_MAX_WAVE; from-- > 0;)
    if (in(m, from) && m->b[from] == i->lane) return (uint32_t)m->a[from];
  return 0;
}
uint32_t lane_amdgcn_ds_swizzle(Item* i, uint32_t site, uint32_t v, uint32_t pattern) {
  const Meeting* m = meet(i, site, v, 0);
  uint32_t lane = i->lane;
  uint32_t from;
  if (pattern & 0x8000) {
    from = (lane & ~3u) | (pattern >> (lane & 3) * 2 & 3);
  } else {
    uint32_t in_half = ((lane & 31 & pattern) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
    from = (lane & ~31u) | (in_half & 31);
  }
  return (uint32_t)m->a[from];
}

/* The lane that data-parallel-primitive control `ctrl` reads, or -1. A row is 16 lanes. */
static inline int dpp_source(uint32_t lane, uint32_t ctrl) {
  uint32_t row = lane & ~15u;
  uint32_t at = lane & 15;
  uint32_t n = ctrl & 15;
  switch (ctrl >> 4) {
    case 0x10:
      return at + n < 16 ? (int)(row + at + n) : -1; /* row_shl */
    case 0x11:
      return at >= n ? (int)(row + at - n) : -1; /* row_shr */
    case 0x12:
      return (int)(row + ((at - n) & 15)); /* row_ror */
    case 0x15:
      return (int)(row + n); /* row_share */
    case 0x16:
      return (int)(row + (at ^ n)); /* row_xmask */
    default:
      break;
  }
  if (ctrl < 0x100) return (int)((lane & ~3u) | (ctrl >> (lane & 3) * 2 & 3)); /* quad_perm */
  switch (ctrl) {
    case 0x130:
      return lane < 63 ? (int)lane + 1 : -1; /* wave_shl */
    case 0x134:
      return (int)((lane + 1) & 63); /* wave_rol */
    case 0x138:
      return (int)lane - 1; /* wave_shr */
    case 0x13c:
      return (int)((lane - 1) & 63); /* wave_ror */
    case 0x140:
      return (int)(row + 15 - at); /* row_mirror */
    case 0x141:
      return (int)((lane & ~7u) + 7 - (lane & 7)); /* row_half_mirror */
    case 0x142:
      return (int)row - 1; /* row_bcast15 */
    case 0x143:
      return lane >= 32 ? 31 : -1; /* row_bcast31 */
    default:
      return -1;
  }
}
static inline uint64_t dpp(Item* i, uint32_t site, uint64_t old, uint64_t v, uint32_t ctrl,
                           uint32_t rows, uint32_t banks, bool bound_zero) {
  const Meeting* m = meet(i, site, v, 0);
  if (!(rows >> (i->lane >> 4) & 1) || !(banks >> (i->lane >> 2 & 3) & 1)) return old;
  int from = dpp_source(i->lane, ctrl);
  if (from >= 0 && in(m, (uint32_t)from)) return m->a[from];
  return bound_zero ? 0 : old;
}
#define DPP(BITS)                                                                               \
  uint##BITS##_t lane_amdgcn_update_dpp_i##BITS(Item* i, uint32_t site, uint##BITS##_t old,     \
                                                uint##BITS##_t v, uint32_t ctrl, uint32_t rows, \
                                                uint32_t banks, bool zero) {                    \
    return (uint##BITS##_t)dpp(i, site, old, v, ctrl, rows, banks, zero);                       \
  }                                                                                             \
  uint##BITS##_t lane_amdgcn_mov_dpp_i##BITS(Item* i, uint32_t site, uint##BITS##_t v,          \
                                             uint32_t ctrl, uint32_t rows, uint32_t banks,      \
                                             bool zero) {                                       \
    return (uint##BITS##_t)dpp(i, site, 0, v, ctrl, rows, banks, zero);                         \
  }
DPP(8)
DPP(16)
DPP(32)
DPP(64)

static inline uint32_t permlane(Item* i, uint32_t site, uint32_t old, uint32_t v, uint64_t select,
                                bool inactive_too, bool bound_zero, uint32_t row_flip) {
  const Meeting* m = meet(i, site, v, 0);
  uint32_t at = (uint32_t)(select >> (i->lane & 15) * 4) & 15;
  uint32_t from = ((i->lane & ~15u) ^ row_flip) | at;
  if (in(m, from)) return (uint32_t)m->a[from];
  return inactive_too || bound_zero ? 0 : old;
}
uint32_t lane_amdgcn_permlane16(Item* i, uint32_t site, uint32_t old, uint32_t v, uint32_t low,
                                uint32_t high, bool fi, bool zero) {
  return permlane(i, site, old, v, (uint64_t)high << 32 | low, fi, zero, 0);
}
uint32_t lane_amdgcn_permlanex16(Item* i, uint32_t site, uint32_t old, uint32_t v, uint32_t low,
                                 uint32_t high, bool fi, bool zero) {
  return permlane(i, site, old, v, (uint64_t)high << 32 | low, fi, zero, 16);
}
