// Sums of absolute differences, cube coordinates, and branches with a stack. The words are from
// LLVM's assembler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

TEST(Media, SumsAtFourOffsets) {
  Machine machine;
  const uint8_t a[8] = {10, 200, 30, 40, 50, 60, 70, 80}, b[4] = {20, 0, 255, 40};
  const uint16_t c[4] = {1, 60000, 65535, 7};
  uint32_t word[2] = {}, reference = 0;
  std::memcpy(word, a, 8);
  std::memcpy(&reference, b, 4);
  uint32_t added[2] = {};
  std::memcpy(added, c, 8);
  machine.fill(0, word[0]);
  machine.fill(1, word[1]);
  machine.fill(2, reference);
  machine.fill(6, added[0]);
  machine.fill(7, added[1]);
  const auto sum = [&](unsigned first, bool is_masked) {
    unsigned total = 0;
    for (unsigned n = 0; n < 4; ++n)
      if (!is_masked || b[n] != 0) total += static_cast<unsigned>(std::abs(a[first + n] - b[n]));
    return total;
  };
  const auto found = [&](unsigned n) {
    return machine.wave->v[4 + n / 2][33] >> 16 * (n % 2) & 0xffff;
  };
  // v_qsad_pk_u16_u8 v[4:5], v[0:1], v2, v[6:7]
  EXPECT_EQ(machine.run({0xd1e50004, 0x041a0500}), Stop::kEnd);
  for (unsigned n = 0; n < 4; ++n) EXPECT_EQ(found(n), (c[n] + sum(n, false)) & 0xffff);
  machine.run({0xd1e60004, 0x041a0500});  // v_mqsad_pk_u16_u8
  for (unsigned n = 0; n < 4; ++n) EXPECT_EQ(found(n), (c[n] + sum(n, true)) & 0xffff);
  machine.run({0xd1e58004, 0x041a0500});  // v_qsad_pk_u16_u8 ... clamp
  EXPECT_EQ(found(2), 0xffffu);
  EXPECT_EQ(found(3), 7 + sum(3, false));
  for (unsigned n = 0; n < 4; ++n) machine.fill(4 + n, 1000 * n);
  machine.run({0xd1e70008, 0x04120500});  // v_mqsad_u32_u8 v[8:11], v[0:1], v2, v[4:7]
  for (unsigned n = 0; n < 4; ++n) EXPECT_EQ(machine.wave->v[8 + n][0], 1000 * n + sum(n, true));
  for (unsigned n = 0; n < 4; ++n) machine.fill(4 + n, 0xffffff00 + n);
  machine.run({0xd1e78008, 0x04120500});  // clamp
  for (unsigned n = 0; n < 4; ++n)
    EXPECT_EQ(machine.wave->v[8 + n][0],
              static_cast<uint32_t>(
                  std::min(0xffffff00u + uint64_t{n} + sum(n, true), 0xffffffffu + uint64_t{0})));
  machine.fill(6, added[0]);
  machine.fill(7, added[1]);
  machine.run({0xd1e68004, 0x041a0500});  // v_mqsad_pk_u16_u8 ... clamp
  for (unsigned n = 0; n < 4; ++n) EXPECT_EQ(found(n), std::min(c[n] + sum(n, true), 0xffffu));
}

struct CubeCase {
  float x, y, z, face, major, s, t;
};

TEST(Media, CubeCoordinates) {
  // Faces +x, -x, +y, -y, +z, -z; at equal magnitudes z precedes y, and y precedes x.
  const CubeCase cases[] = {{4, 1, 2, 0, 8, -2, -1},   {-4, 1, 2, 1, -8, 2, -1},
                            {1, 4, 2, 2, 8, 1, 2},     {1, -4, 2, 3, -8, 1, -2},
                            {1, 2, 4, 4, 8, 1, -2},    {1, 2, -4, 5, -8, -1, -2},
                            {3, 3, -3, 5, -6, -3, -3}, {3, -3, 1, 3, -6, 3, -1}};
  for (const CubeCase& each : cases) {
    Machine machine;
    machine.fill(0, bits(each.x));
    machine.fill(1, bits(each.y));
    machine.fill(2, bits(each.z));
    const auto result = [&](uint32_t word) {
      EXPECT_EQ(machine.run({word, 0x040a0300}), Stop::kEnd);
      return number(machine.wave->v[3][17]);
    };
    EXPECT_EQ(result(0xd1c40003), each.face);   // v_cubeid_f32 v3, v0, v1, v2
    EXPECT_EQ(result(0xd1c70003), each.major);  // v_cubema_f32
    EXPECT_EQ(result(0xd1c50003), each.s);      // v_cubesc_f32
    EXPECT_EQ(result(0xd1c60003), each.t);      // v_cubetc_f32
  }
}

// Lanes of the condition add 4, the others 2, then all add 1, using the branch stack. The program
// itself sets the lanes that continue after the join:
//   s_mov_b64 s[14:15], exec; s_cbranch_i_fork s[8:9], then; v_add_u32 v1, 2, v1; s_branch join
//   then: v_add_u32 v1, 4, v1
//   join: s_cbranch_join s12; s_mov_b64 exec, s[14:15]; v_add_u32 v1, 1, v1
TEST(Branches, ForkAndJoin) {
  const Words code = {0xbe8e017e, 0xb8080002, 0x68020282, 0xbf820001,
                      0x68020284, 0xbe802e0c, 0xbefe010e, 0x68020281};
  for (const uint64_t condition : {uint64_t{0}, uint64_t{0xff}, ~uint64_t{0xff}, ~uint64_t{0}}) {
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xf0f0}}) {
      Machine machine;
      machine.fill(1, 0);
      machine.wave->set64(8, condition);
      machine.wave->set64(sonde::gpu::kExec, exec);
      EXPECT_EQ(machine.run(code), Stop::kEnd);
      EXPECT_EQ(machine.wave->exec(), exec);
      EXPECT_EQ(machine.wave->mode, kUsualFloatMode | kClampsAndIeee);
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const uint32_t expected = condition >> lane & 1 ? 5 : 3;
        EXPECT_EQ(machine.wave->v[1][lane], exec >> lane & 1 ? expected : 0) << lane;
      }
    }
  }
}

// The smaller part goes first; the other part's address is in a register.
TEST(Branches, ForkToRegister) {
  // s_getpc_b64 s[10:11]; s_add_u32 s10, s10, 20; s_cbranch_g_fork s[8:9], s[10:11]; s_nop; s_nop;
  // s_endpgm; s_endpgm
  const Words code = {0xbe8a1c00, 0x800a940a, 0x94800a08, 0xbf800000, 0xbf800000, 0xbf810000};
  Machine machine;
  machine.wave->set64(8, 7);
  EXPECT_EQ(machine.run(code), Stop::kEnd);
  EXPECT_EQ(machine.wave->exec(), 7u);
  EXPECT_EQ(machine.wave->pc, 28u);
  EXPECT_EQ(machine.wave->mode >> 29, 1u);
  EXPECT_EQ(machine.wave->s64(0), ~uint64_t{7});
  Machine other;
  other.wave->set64(8, ~uint64_t{7});
  other.run(code);
  EXPECT_EQ(other.wave->exec(), 7u);
  EXPECT_EQ(other.wave->pc, 24u);
  EXPECT_EQ(other.wave->s64(2) - other.wave->s64(10), 0u);
}

TEST(Branches, VectorInstructionsCanBeSkipped) {
  Machine machine;
  machine.fill(1, 1);
  machine.wave->s[8] = 8;
  // s_setvskip s8, 3; v_add_u32 v1, 4, v1; s_mov_b32 s2, 5; s_set_gpr_idx_off; v_add_u32 v1, 4, v1;
  // s_setvskip s8, 2; v_add_u32 v1, 2, v1
  EXPECT_EQ(machine.run({0xbf108308, 0x68020284, 0xbe820085, 0xbf9c0000, 0x68020284, 0xbf108208,
                         0x68020282}),
            Stop::kEnd);
  EXPECT_EQ(machine.wave->v[1][0], 3u);
  EXPECT_EQ(machine.wave->s[2], 5u);
  EXPECT_EQ(machine.wave->mode, kUsualFloatMode | kClampsAndIeee);
}

}  // namespace
}  // namespace softgpu::isa
