#include <gtest/gtest.h>

#include <vector>

#include "gpu/print.h"

namespace sonde::gpu {
namespace {

std::string text(Architecture architecture, const std::vector<uint32_t>& words) {
  const auto instruction = decode(architecture, words);
  if (!instruction) return "unknown";
  return instruction->words == words.size() ? text_of(*instruction) : "other length";
}

// Words of each format and what LLVM 15's llvm-mc --disassemble -mcpu=gfx90a writes for them.
TEST(Decode, EachFormatAsLlvmWritesIt) {
  const std::vector<std::pair<std::vector<uint32_t>, const char*>> known = {
      {{0xbf8c0f70}, "s_waitcnt vmcnt(0)"},
      {{0x8004ff05, 0x12345678}, "s_add_u32 s4, s5, 0x12345678"},
      {{0xbf820010}, "s_branch 16"},
      {{0xc00a0302, 0x00000010}, "s_load_dwordx4 s[12:15], s[4:5], 0x10"},
      {{0x02020501}, "v_add_f32_e32 v1, v1, v2"},
      {{0xd1010001, 0x00020702}, "v_add_f32_e64 v1, v2, v3"},
      {{0xd1e86a02, 0x04120802}, "v_mad_u64_u32 v[2:3], vcc, s2, v4, v[4:5]"},
      {{0x7d940a81}, "v_cmp_eq_u32_e32 vcc, 1, v5"},
      {{0xd0ca0004, 0x00020701}, "v_cmp_eq_u32_e64 s[4:5], v1, v3"},
      {{0xd86c0000, 0x01000002}, "ds_read_b32 v1, v2"},
      {{0xdc508010, 0x037f0001}, "global_load_dword v3, v[1:2], off offset:16"},
      {{0xdc508000, 0x0302000a}, "global_load_dword v3, v10, s[2:3]"},
      {{0xdd098000, 0x017f0204}, "global_atomic_add v1, v[4:5], v2, off glc"},
      {{0xe0501000, 0x80010302}, "buffer_load_dword v3, v2, s[4:7], 0 offen"},
      {{0x7e0202fa, 0xff0001e4},
       "v_mov_b32_dpp v1, v228 quad_perm:[1,0,0,0] row_mask:0xf bank_mask:0xf"},
      {{0xd3a00004, 0x1c0e0502}, "v_fma_mix_f32 v4, v2, v2, v3 op_sel_hi:[1,1,0]"},
      {{0xb8d0f80f}, "s_getreg_b32 s80, hwreg(HW_REG_SH_MEM_BASES)"},
      {{0xd3b18000, 0x18020702}, "v_pk_mul_f32 v[0:1], v[2:3], v[3:4] clamp"},
      {{0xbf900001}, "s_sendmsg sendmsg(MSG_INTERRUPT)"},
      {{0xd1c10405, 0xa4120702}, "v_mad_f32 v5, -v2, v3, -|v4|"},
      {{0xd87a8000, 0x00000001}, "ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,0,0,0,0)"},
      {{0xc0240002, 0x00000000}, "s_buffer_load_dwordx2 s[0:1], s[4:7], s0"},
      {{0xd3d94015, 0x18000128}, "v_accvgpr_write_b32 a21, v40"},
      {{0xd3d84028, 0x18000115}, "v_accvgpr_read_b32 v40, a21"},
      {{0xc0940100, 0x00000000}, "s_memrealtime s[4:5]"},
      {{0xc0800000, 0x00000000}, "s_dcache_inv"},
      {{0xd3d48000, 0x04020d01}, "v_mfma_i32_32x32x8i8 a[0:15], v1, v6, a[0:15]"},
      {{0x7e000000}, "v_nop"},
      {{0x7e006a00}, "v_clrexcp"},
      {{0xd8280000, 0x00000000}, "ds_nop"},
  };
  for (const auto& [words, expected] : known) {
    EXPECT_EQ(text(Architecture::kGfx90a, words), expected);
  }
}

// gfx908 always keeps results of matrix products in accumulators, gfx90a if a bit says so; gfx906
// has none.
TEST(Decode, ArchitecturesDiffer) {
  const std::vector<uint32_t> product = {0xd3d40000, 0x04020d01};
  EXPECT_EQ(text(Architecture::kGfx90a, product), "v_mfma_i32_32x32x8i8 v[0:15], v1, v6, v[0:15]");
  EXPECT_EQ(text(Architecture::kGfx908, product), "v_mfma_i32_32x32x8i8 a[0:15], v1, v6, a[0:15]");
  EXPECT_EQ(text(Architecture::kGfx906, product), "unknown");
  EXPECT_EQ(architecture_of("gfx908"), Architecture::kGfx908);
  EXPECT_EQ(architecture_of("gfx1030"), std::nullopt);
}

TEST(Decode, WhatIsCutOrUnknownIsTold) {
  EXPECT_FALSE(decode(Architecture::kGfx90a, {}));
  const uint32_t first[] = {0xc00a0302};  // of two words
  EXPECT_FALSE(decode(Architecture::kGfx90a, first));
  const uint32_t without_literal[] = {0x8004ff05};
  EXPECT_FALSE(decode(Architecture::kGfx90a, without_literal));
  const uint32_t image[] = {0xf0000f00, 0x00020000};
  EXPECT_FALSE(decode(Architecture::kGfx90a, image));
}

// Arbitrary words: no crash, a length within the words, and text.
TEST(Decode, AnyWordsAreTaken) {
  uint64_t state = 88172645463325252;
  const auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>(state);
  };
  size_t known = 0;
  for (int i = 0; i < 200'000; ++i) {
    const uint32_t words[] = {random(), random()};
    for (const auto architecture :
         {Architecture::kGfx906, Architecture::kGfx908, Architecture::kGfx90a}) {
      const auto instruction = decode(architecture, words);
      if (!instruction) continue;
      ASSERT_LE(instruction->words, 2);
      ASSERT_FALSE(text_of(*instruction).empty());
      ++known;
    }
  }
  EXPECT_GT(known, 100'000u);
}

// The index finds each row again, and no operand is wider than the registers of a wave.
TEST(Opcodes, AreFoundByNumber) {
  for (const Opcode& opcode : all_opcodes()) {
    for (const auto architecture :
         {Architecture::kGfx906, Architecture::kGfx908, Architecture::kGfx90a}) {
      const bool has = (opcode.architectures >> static_cast<int>(architecture) & 1) != 0;
      EXPECT_EQ(find_opcode(architecture, opcode.format, opcode.number) == &opcode, has)
          << opcode.name;
    }
    EXPECT_LE(opcode.operands(), 5u) << opcode.name;
  }
}

}  // namespace
}  // namespace sonde::gpu
