// Single instructions, with words from LLVM's assembler and results worked out by hand.
// softgpu/tests/kernels has whole kernels.
#include <gtest/gtest.h>

#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

struct ScalarCase {
  Words words;
  const char* text;
  uint32_t s0, s1, scc, s2, scc_after;
};

TEST(Instructions, Scalar) {
  const std::vector<ScalarCase> cases = {
      {{0x80020100}, "s_add_u32 s2, s0, s1", 0xffffffff, 2, 0, 1, 1},
      {{0x82020100}, "s_addc_u32 s2, s0, s1", 0xffffffff, 0, 1, 0, 1},
      {{0x82020100}, "s_addc_u32 s2, s0, s1", 5, 6, 1, 12, 0},
      {{0x9302ff00, 0x00080004}, "s_bfe_i32 s2, s0, 0x80004", 0x00000f80, 0, 0, 0xfffffff8, 1},
      {{0x96820100}, "s_mul_hi_i32 s2, s0, s1", 0xffffffff, 1, 0, 0xffffffff, 0},
      {{0xbe821200}, "s_flbit_i32_b32 s2, s0", 0x00010000, 0, 0, 15, 0},
      {{0xbe821200}, "s_flbit_i32_b32 s2, s0", 0, 0, 1, 0xffffffff, 1},
      {{0xb882f80f}, "s_getreg_b32 s2, hwreg(HW_REG_SH_MEM_BASES)", 0, 0, 0, 0x00010002, 0},
  };
  for (const ScalarCase& each : cases) {
    Machine machine;
    machine.wave->s[0] = each.s0;
    machine.wave->s[1] = each.s1;
    machine.wave->scc = each.scc;
    EXPECT_EQ(machine.run(each.words), Stop::kEnd) << each.text;
    EXPECT_EQ(machine.wave->s[2], each.s2) << each.text;
    EXPECT_EQ(machine.wave->scc, each.scc_after) << each.text;
  }
}

struct VectorCase {
  Words words;
  const char* text;
  uint32_t v0, v1, v2;
};

constexpr uint32_t kOneTwo = 0x40003c00, kHalfThree = 0x42003800;  // f16 pairs: (1, 2), (0.5, 3)
const VectorCase kVectorCases[] = {
    {{0x02040300}, "v_add_f32_e32 v2, v0, v1", bits(1.5F), bits(2.25F), bits(3.75F)},
    {{0xd1058202, 0x20020300},
     "v_mul_f32_e64 v2, -v0, |v1| clamp",
     bits(-0.5F),
     bits(-0.25F),
     bits(0.125F)},
    {{0xd1058202, 0x20020300}, "v_mul_f32_e64 v2, -v0, |v1| clamp", bits(-9), bits(-2), bits(1)},
    {{0xd1cb0002, 0x03ca0300},
     "v_fma_f32 v2, v0, v1, 1.0",
     bits(0x1.000002p0F),
     bits(-0x1.fffffcp-1F),
     bits(0x1p-46F)},
    {{0x680400ff, 0x12345678}, "v_add_u32_e32 v2, 0x12345678, v0", 0xf0000000, 0, 0x02345678},
    {{0xd1278002, 0x00020300}, "v_sub_u16_e64 v2, v0, v1 clamp", 0xabcd0003, 5, 0},
    {{0xd2860002, 0x00020300}, "v_mul_hi_u32 v2, v0, v1", 0x80000000, 6, 3},
    {{0x7e040f00}, "v_cvt_u32_f32_e32 v2, v0", bits(-3), 0, 0},
    {{0x7e040f00}, "v_cvt_u32_f32_e32 v2, v0", bits(5e9F), 0, 0xffffffff},
    {{0x7e041500}, "v_cvt_f16_f32_e32 v2, v0", bits(65519.996F), 0, 0x7bff},
    {{0x7e041500}, "v_cvt_f16_f32_e32 v2, v0", bits(65520.0F), 0, 0x7c00},
    {{0x7e041500}, "v_cvt_f16_f32_e32 v2, v0", bits(0x1.8p-24F), 0, 0x0002},
    {{0x3e040300}, "v_add_f16_e32 v2, v0, v1", 0xdead3c00, 0xdead3800, 0x3e00},
    // 1.0009765625^2 + 1.0009765625, rounded once; the other half is kept.
    {{0xd2060002, 0x04020300}, "v_fma_f16 v2, v0, v1, v0", 0x3c01, 0x3c01, 0x77774002},
    {{0xd38f4002, 0x18020300}, "v_pk_add_f16 v2, v0, v1", kOneTwo, kHalfThree, 0x45003e00},
    {{0xd3814002, 0x10020300},
     "v_pk_mul_lo_u16 v2, v0, v1 op_sel_hi:[0,1]",
     0x00070003,
     0x00050002,
     0x000f0006},
    {{0xd38e4002, 0x1c020300}, "v_pk_fma_f16 v2, v0, v1, v0", kOneTwo, kHalfThree, 0x48003e00},
    {{0xd3a04002, 0x0c020300},
     "v_fma_mix_f32 v2, v0, v1, v0 op_sel_hi:[1,0,1]",
     kOneTwo,
     bits(3),
     bits(4)},
    {{0xd3a34002, 0x1c020300},
     "v_dot2_f32_f16 v2, v0, v1, v0",
     kOneTwo,
     kHalfThree,
     bits(0.5F + 6 + number(kOneTwo))},
    {{0xd3a84002, 0x1a160300},
     "v_dot4_i32_i8 v2, v0, v1, 5",
     0xff020304,
     0x01ff0201,
     5 + 4 + 6 - 2 - 1},
    {{0xd1ed0002, 0x00020300}, "v_perm_b32 v2, v0, v1, s0", 0x44332211, 0x88776655, 0x44ff0055},
    {{0xd1ce0002, 0x02220300}, "v_alignbit_b32 v2, v0, v1, 8", 0x11223344, 0x55667788, 0x44556677},
    {{0xd1c90002, 0x02210900}, "v_bfe_i32 v2, v0, 4, 8", 0x00000f70, 0, 0xfffffff7},
    {{0x680402f9, 0x05001100},
     "v_add_u32_sdwa v2 byte 1, preserve, v0 byte 0, v1 word 1",
     0xffffff21,
     0x0011ffff,
     0x77773277},
    {{0x7e0402f9, 0x000b0600}, "v_mov_b32_sdwa v2, sext(v0 byte 3)", 0x80112233, 0, 0xffffff80},
    {{0xd1d60002, 0x03d20300}, "v_med3_f32 v2, v0, v1, 2.0", bits(3), bits(1), bits(2)},
    {{0xd2880002, 0x00018500}, "v_ldexp_f32 v2, v0, -2", bits(6), 0, bits(1.5F)},
    {{0x7e046700}, "v_frexp_exp_i32_f32_e32 v2, v0", bits(8), 0, 4},
    {{0x7e044500}, "v_rcp_f32_e32 v2, v0", bits(-0.0F), 0, 0xff800000},
};

TEST(Instructions, VectorWithModifiers) {
  for (const VectorCase& each : kVectorCases) {
    Machine machine;
    machine.fill(0, each.v0);
    machine.fill(1, each.v1);
    machine.fill(2, 0x77777777);
    machine.wave->s[0] = 0x070d0c00;  // the selector of v_perm: byte 7, 0xff, 0, byte 0
    EXPECT_EQ(machine.run(each.words), Stop::kEnd) << each.text;
    for (int lane : {0, 31, 63})
      EXPECT_EQ(machine.wave->v[2][lane], each.v2) << each.text << " lane " << lane;
  }
}

// An inline fraction has the width of the operand, in bitwise instructions, too.
TEST(Instructions, FractionsOfWideOperands) {
  Machine machine;
  EXPECT_EQ(machine.run({0xbe8201f2}), Stop::kEnd);  // s_mov_b64 s[2:3], 1.0
  EXPECT_EQ(machine.wave->s64(2), 0x3ff0000000000000u);
  EXPECT_EQ(machine.run({0xbe8200f2}), Stop::kEnd);  // s_mov_b32 s2, 1.0
  EXPECT_EQ(machine.wave->s[2], 0x3f800000u);
}

// The 32 bits of a literal are the lower half of a 64-bit operand: the upper half is 0, or the sign
// in signed instructions.
TEST(Instructions, LiteralsOfWideOperands) {
  Machine machine;
  EXPECT_EQ(machine.run({0xbe8201ff, 0xffffff2e}), Stop::kEnd);  // s_mov_b64 s[2:3], literal
  EXPECT_EQ(machine.wave->s64(2), 0xffffff2eu);
  EXPECT_EQ(machine.run({0x908284ff, 0x80000010}), Stop::kEnd);  // s_ashr_i64 s[2:3], literal, 4
  EXPECT_EQ(machine.wave->s64(2), 0xfffffffff8000001u);
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{0xffffff2d}, uint64_t{0xffffff2e}, ~uint64_t{0}}) {
    machine.fill(0, static_cast<uint32_t>(value));
    machine.fill(1, static_cast<uint32_t>(value >> 32));
    EXPECT_EQ(machine.run({0x7dd800ff, 0xffffff2e}),
              Stop::kEnd);  // v_cmp_gt_u64 vcc, literal, v[0:1]
    EXPECT_EQ(machine.wave->vcc(), value < 0xffffff2e ? ~uint64_t{0} : 0);
    EXPECT_EQ(machine.run({0x7dc800ff, 0xffffff2e}), Stop::kEnd);  // v_cmp_gt_i64
    EXPECT_EQ(machine.wave->vcc(), 0u);
  }
}

TEST(Instructions, OnlyActiveLanesAreWritten) {
  Machine machine;
  machine.fill(0, 7);
  machine.fill(2, 1);
  machine.wave->set64(sonde::gpu::kExec, 0x8000000000000005);
  machine.run({0x68040081});  // v_add_u32_e32 v2, 1, v0
  for (int lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(machine.wave->v[2][lane], lane == 0 || lane == 2 || lane == 63 ? 8U : 1U) << lane;
  }
}

TEST(Instructions, MasksAndCarries) {
  Machine machine;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    machine.wave->v[0][lane] = lane < 10 ? 0xffffffff : 1;
  machine.fill(1, 3);
  machine.run({0x32040300});  // v_add_co_u32_e32 v2, vcc, v0, v1
  EXPECT_EQ(machine.wave->vcc(), 0x3ffU);
  EXPECT_EQ(machine.wave->v[2][0], 2U);
  EXPECT_EQ(machine.wave->v[2][10], 4U);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    machine.wave->v[0][lane] = bits(static_cast<float>(lane));
  machine.fill(1, bits(4.5F));
  machine.wave->v[0][3] = 0x7fc00000;  // NaN
  machine.run({0x7c820300});           // v_cmp_lt_f32_e32 vcc, v0, v1
  EXPECT_EQ(machine.wave->vcc(), 0x17U);
  machine.run({0xd0100002, 0x00010700});  // v_cmp_class_f32_e64 s[2:3], v0, 3: NaNs
  EXPECT_EQ(machine.wave->s64(2), 8U);
  machine.run({0x00040300});  // v_cndmask_b32_e32 v2, v0, v1, vcc
  EXPECT_EQ(machine.wave->v[2][4], bits(4.5F));
  EXPECT_EQ(machine.wave->v[2][5], bits(5));
  machine.wave->set64(0, 0xf0);
  machine.run({0xbe822000});  // s_and_saveexec_b64 s[2:3], s[0:1]
  EXPECT_EQ(machine.wave->s64(2), ~uint64_t{0});
  EXPECT_EQ(machine.wave->exec(), 0xf0U);
}

TEST(Instructions, LanesSeeEachOther) {
  Machine machine;
  for (uint32_t lane = 0; lane < kLanes; ++lane) machine.wave->v[0][lane] = lane;
  machine.fill(2, 99);
  machine.run({0x7e0402fa, 0xff011100});  // v_mov_b32_dpp v2, v0 row_shr:1
  EXPECT_EQ(machine.wave->v[2][0], 99U);
  EXPECT_EQ(machine.wave->v[2][16], 99U);
  EXPECT_EQ(machine.wave->v[2][17], 16U);
  machine.run({0x7e0402fa, 0xff08b100});  // quad_perm:[1,0,3,2]
  EXPECT_EQ(machine.wave->v[2][6], 7U);
  machine.run({0xd87a041f, 0x02000000});  // ds_swizzle_b32 v2, v0 offset:swizzle(SWAP,1)
  EXPECT_EQ(machine.wave->v[2][9], 8U);
  machine.run({0xd28d0002, 0x000100c1});  // v_mbcnt_hi_u32_b32 v2, -1, 0
  EXPECT_EQ(machine.wave->v[2][31], 0U);
  EXPECT_EQ(machine.wave->v[2][40], 8U);
  machine.run({0xd2890002, 0x00010b00});  // v_readlane_b32 s2, v0, 5
  EXPECT_EQ(machine.wave->s[2], 5U);
  for (uint32_t lane = 0; lane < kLanes; ++lane) machine.wave->v[1][lane] = 1000 + lane;
  for (uint32_t lane = 0; lane < kLanes; ++lane) machine.wave->v[0][lane] = 4 * (63 - lane);
  machine.run({0xd87e0000, 0x02000100});  // ds_bpermute_b32 v2, v0, v1
  EXPECT_EQ(machine.wave->v[2][0], 1063U);
  EXPECT_EQ(machine.wave->v[2][63], 1000U);
}

TEST(Instructions, PairsOfFloats) {
  Machine machine;
  machine.fill(0, bits(1));
  machine.fill(1, bits(10));
  // v_pk_add_f32 v[2:3], v[0:1], v[0:1] op_sel:[0,1] op_sel_hi:[1,0]: low + high, high + low
  machine.run({0xd3b25002, 0x08020100});
  EXPECT_EQ(machine.wave->v[2][5], bits(11));
  EXPECT_EQ(machine.wave->v[3][5], bits(11));
  machine.wave->v[0][0] = 0xffffffff;
  machine.wave->v[1][0] = 0xfffffffe;
  machine.run({0xd1e80202, 0x04020300});  // v_mad_u64_u32 v[2:3], s[2:3], v0, v1, v[0:1]
  const unsigned __int128 exact =
      static_cast<unsigned __int128>(0xffffffffULL) * 0xfffffffeULL + 0xfffffffeffffffffULL;
  EXPECT_EQ(machine.wave->v[2][0], static_cast<uint32_t>(exact));
  EXPECT_EQ(machine.wave->v[3][0], static_cast<uint32_t>(exact >> 32));
  EXPECT_EQ(machine.wave->s64(2) & 1, static_cast<uint64_t>(exact >> 64));
}

// D = A x B + C by definition, with the layout of AMD's documents: element (i, k) of A is in lane i
// + 16 k, (k, j) of B in lane j + 16 k, and (i, j) of D in register i % 4, lane j + 16 (i / 4).
TEST(Instructions, MatrixOfSixteen) {
  Machine machine;
  const auto a = [](int i, int k) { return static_cast<float>(i * 3 - k * 5 + 1); };
  const auto b = [](int k, int j) { return static_cast<float>(k * 7 + j - 4); };
  for (int lane = 0; lane < kLanes; ++lane) {
    machine.wave->v[0][lane] = bits(a(lane % 16, lane / 16));
    machine.wave->v[1][lane] = bits(b(lane / 16, lane % 16));
  }
  machine.wave->set64(sonde::gpu::kExec, 1);  // has no effect
  EXPECT_EQ(machine.run({0xd3c50004, 0x02020300}),
            Stop::kEnd);  // v_mfma_f32_16x16x4f32 v[4:7], v0, v1, 0
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) sum += a(i, k) * b(k, j);
      EXPECT_EQ(number(machine.wave->v[4 + i % 4][j + 16 * (i / 4)]), sum) << i << " " << j;
    }
  }
}

TEST(Instructions, MatrixOfTwoBlocks) {
  Machine machine;
  for (int lane = 0; lane < kLanes; ++lane) {
    machine.wave->v[0][lane] = bits(static_cast<float>(lane));  // block lane / 32, row lane % 32
    machine.wave->v[1][lane] = bits(static_cast<float>(100 - lane));  // the same, column
  }
  machine.run({0xd3c08000, 0x02020300});  // v_mfma_f32_32x32x1f32 a[0:31], v0, v1, 0
  for (int block = 0; block < 2; ++block) {
    for (int row = 0; row < 32; ++row) {
      for (int column = 0; column < 32; ++column) {
        const int reg = 16 * block + row / 8 * 4 + row % 4, lane = row / 4 % 2 * 32 + column;
        const float expected =
            static_cast<float>((32 * block + row) * (100 - (32 * block + column)));
        EXPECT_EQ(number(machine.wave->v[256 + reg][lane]), expected);
      }
    }
  }
}

TEST(Instructions, MatrixOfDoubles) {
  Machine machine;
  const auto put = [&](unsigned row, int lane, double value) {
    machine.wave->v[row][lane] = static_cast<uint32_t>(bits64(value));
    machine.wave->v[row + 1][lane] = static_cast<uint32_t>(bits64(value) >> 32);
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    put(0, lane, lane % 16 + 0.5 * (lane / 16));  // a(i, k)
    put(2, lane, lane % 16 - 2.0 * (lane / 16));  // b(k, j)
  }
  machine.run({0xd3ee0004, 0x02020500});  // v_mfma_f64_16x16x4f64 v[4:11], v[0:1], v[2:3], 0
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j) {
      double sum = 0;
      for (int k = 0; k < 4; ++k) sum += (i + 0.5 * k) * (j - 2.0 * k);
      const int reg = 4 + 2 * (i / 4), lane = j + 16 * (i % 4);
      EXPECT_EQ(machine.wave->v[reg][lane] | uint64_t{machine.wave->v[reg + 1][lane]} << 32,
                bits64(sum));
    }
  }
}

TEST(Instructions, ModeFlushesAndRounds) {
  Machine machine;
  machine.fill(0, 1);  // the smallest f32
  machine.fill(1, 0);
  machine.run({0x02040300});  // v_add_f32_e32 v2, v0, v1
  EXPECT_EQ(machine.wave->v[2][0], 1U);
  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xc0: f32 flushed, f64 not
  machine.run({0xba003801, 0x000000c0, 0x02040300});
  EXPECT_EQ(machine.wave->v[2][0], 0U);
  machine.fill(0, bits(1));
  machine.fill(1, bits(0x1p-30F));
  machine.run({0xba003801, 0x000000f1, 0x02040300});  // towards +infinity
  EXPECT_EQ(machine.wave->v[2][0], bits(0x1.000002p0F));
  machine.run({0xba003801, 0x000000f0, 0x02040300});
  EXPECT_EQ(machine.wave->v[2][0], bits(1));
}

}  // namespace
}  // namespace softgpu::isa
