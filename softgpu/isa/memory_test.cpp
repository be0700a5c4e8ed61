// Memory instructions that C++ compilers rarely emit: typed buffers, scalar atomics, loads into
// LDS, GDS. The words are from LLVM's assembler; the expected values follow from the definitions of
// the formats.
#include <gtest/gtest.h>

#include <cstring>

#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

// A wave with a structured buffer in s[0:3], with elements of `stride` bytes, of which lane n
// accesses the n-th: v0 is the index.
struct BufferMachine : Machine {
  std::vector<uint32_t> memory = std::vector<uint32_t>(256);

  explicit BufferMachine(uint32_t stride, uint32_t records = 8, uint32_t word3 = 0x00000fac) {
    const auto base = reinterpret_cast<uint64_t>(memory.data());
    wave->s[0] = static_cast<uint32_t>(base);
    wave->s[1] = static_cast<uint32_t>(base >> 32) | stride << 16;
    wave->s[2] = records;
    wave->s[3] = word3;  // X, Y, Z, W are not swizzled
    for (uint32_t lane = 0; lane < kLanes; ++lane) wave->v[0][lane] = lane;
  }
  void give(unsigned row, std::initializer_list<uint32_t> values) {
    for (const uint32_t value : values) fill(row++, value);
  }
};

TEST(Memory, TypedLoadsConvertEachFormat) {
  BufferMachine packed(4);
  packed.memory = {0x3ff | 512u << 10 | 0u << 20 | 3u << 30, 1u << 30};
  packed.memory.resize(256);
  // tbuffer_load_format_xyzw v[4:7], v0, s[0:3], 0 format:[BUF_DATA_FORMAT_2_10_10_10] idxen
  EXPECT_EQ(packed.run({0xe849a000, 0x80000400}), Stop::kEnd);
  EXPECT_EQ(number(packed.wave->v[4][0]), 1.0F);
  EXPECT_EQ(number(packed.wave->v[5][0]), static_cast<float>(512.0 / 1023));
  EXPECT_EQ(packed.wave->v[6][0], 0u);
  EXPECT_EQ(number(packed.wave->v[7][0]), 1.0F);
  EXPECT_EQ(number(packed.wave->v[7][1]), static_cast<float>(1.0 / 3));
  EXPECT_EQ(packed.wave->v[7][8], 0u);  // beyond the last record

  packed.memory[0] = 0x817f80c0;
  // tbuffer_load_format_xyzw ... format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_SNORM] idxen
  packed.run({0xe8d1a000, 0x80000400});
  EXPECT_EQ(number(packed.wave->v[4][0]), static_cast<float>(-64.0 / 127));
  EXPECT_EQ(number(packed.wave->v[5][0]), -1.0F);  // -128 also gives -1
  EXPECT_EQ(number(packed.wave->v[6][0]), 1.0F);
  EXPECT_EQ(number(packed.wave->v[7][0]), -1.0F);

  // 1.5 in eleven bits (5 of exponent, 6 of mantissa), 0.25, infinity in ten
  packed.memory[0] = (15u << 6 | 0x20) | (13u << 6) << 11 | (31u << 5) << 22;
  // tbuffer_load_format_xyzw ... format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT] idxen
  packed.run({0xebb1a000, 0x80000400});
  EXPECT_EQ(number(packed.wave->v[4][0]), 1.5F);
  EXPECT_EQ(number(packed.wave->v[5][0]), 0.25F);
  EXPECT_EQ(packed.wave->v[6][0], 0x7f800000u);
  EXPECT_EQ(packed.wave->v[7][0], 0u);  // there is no W

  BufferMachine wide(12);
  wide.memory = {bits(1), bits(-2), bits(65520), bits(0x1p-25F), bits(3), bits(4)};
  wide.memory.resize(256);
  // tbuffer_load_format_d16_xyz v[4:5], v0, s[0:3], 0 format:[32_32_32,FLOAT] idxen
  wide.run({0xebed2000, 0x80000400});
  EXPECT_EQ(wide.wave->v[4][0], 0xc0003c00u);
  EXPECT_EQ(wide.wave->v[5][0], 0x7c00u);  // too large for a half
  EXPECT_EQ(wide.wave->v[4][1], 0x42000000u);
}

TEST(Memory, TypedStoresConvertRoundAndClamp) {
  BufferMachine eight(8);
  eight.give(4, {70000, 5});
  // tbuffer_store_format_xy v[4:5], v0, s[0:3], 0 format:[16_16_16_16,UINT] idxen
  EXPECT_EQ(eight.run({0xea62a000, 0x80000400}), Stop::kEnd);
  EXPECT_EQ(eight.memory[0], 0x0005ffffu);
  EXPECT_EQ(eight.memory[1], 0xffffffffu);  // missing components repeat the first one
  EXPECT_EQ(eight.memory[2 * 7], 0x0005ffffu);
  EXPECT_EQ(eight.memory[2 * 8], 0u);  // beyond the last record

  BufferMachine four(4);
  four.give(4, {bits(0.5F), bits(2), bits(-1), 0x7fc00000});
  // tbuffer_store_format_xyzw ... format:[BUF_DATA_FORMAT_2_10_10_10] idxen; 511.5 is even at 512
  four.run({0xe84ba000, 0x80000400});
  EXPECT_EQ(four.memory[3], 512u | 1023u << 10);
  four.give(4, {bits(1.5F), bits(1e9F), bits(-3)});
  // tbuffer_store_format_xyz ... format:[BUF_DATA_FORMAT_10_11_11,BUF_NUM_FORMAT_FLOAT] idxen
  four.run({0xebb32000, 0x80000400});
  EXPECT_EQ(four.memory[0], (15u << 6 | 0x20) | (31u << 6) << 11);
  four.give(4, {0x1234fffe});
  // tbuffer_store_format_d16_x v4, v0, s[0:3], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_SINT]
  // idxen
  four.run({0xeaa62000, 0x80000400});
  EXPECT_EQ(four.memory[5], 0xfffffffeu);
}

TEST(Memory, FormatsOfDescriptorsChooseComponents) {
  // Data format 8_8_8_8 (10), UNORM; X is the third component, Y is 1, Z is 0, W the first.
  BufferMachine machine(4, 8, 10u << 15 | 0u << 12 | 4u << 9 | 0u << 6 | 1u << 3 | 6u);
  machine.memory[0] = 0x00ff0033;
  // buffer_load_format_xyzw v[4:7], v0, s[0:3], 0 idxen
  EXPECT_EQ(machine.run({0xe00c2000, 0x80000400}), Stop::kEnd);
  EXPECT_EQ(number(machine.wave->v[4][0]), 1.0F);
  EXPECT_EQ(number(machine.wave->v[5][0]), 1.0F);
  EXPECT_EQ(machine.wave->v[6][0], 0u);
  EXPECT_EQ(number(machine.wave->v[7][0]), 0.2F);
  // buffer_load_format_d16_hi_x v4: the half above, the other stays
  machine.fill(4, 0x11112222);
  machine.run({0xe0982000, 0x80000400});
  EXPECT_EQ(machine.wave->v[4][0], 0x3c002222u);

  BufferMachine integers(2, 8, 2u << 15 | 5u << 12 | 4u);  // 16, SINT
  integers.memory[0] = 0x0001fffe;
  integers.run({0xe0002000, 0x80000400});  // buffer_load_format_x v4, v0, s[0:3], 0 idxen
  EXPECT_EQ(integers.wave->v[4][0], 0xfffffffeu);
  EXPECT_EQ(integers.wave->v[4][1], 1u);
  integers.fill(4, 0x7fff9999);
  integers.run({0xe09c2000, 0x80000400});  // buffer_store_format_d16_hi_x v4
  EXPECT_EQ(integers.memory[0], 0x7fff7fffu);
  BufferMachine unbound(4, 8, 0);  // no format: nothing is written
  unbound.give(4, {1, 2, 3, 4});
  unbound.run({0xe01c2000, 0x80000400});  // buffer_store_format_xyzw v[4:7]
  EXPECT_EQ(unbound.memory[0], 0u);
}

TEST(Memory, LoadsIntoLds) {
  BufferMachine machine(0, 1024);
  machine.lds.assign(512, 0xee);
  machine.group.lds = machine.lds.data();
  machine.group.lds_bytes = 512;
  const auto lds_at = [&](uint32_t at) {
    uint32_t value = 0;
    std::memcpy(&value, machine.lds.data() + at, 4);
    return value;
  };
  for (uint32_t i = 0; i < 256; ++i) machine.memory[i] = 1000 + i;
  for (uint32_t lane = 0; lane < kLanes; ++lane) machine.wave->v[0][lane] = 4 * (63 - lane);
  machine.wave->s[sonde::gpu::kM0] = 0xabc00010;  // only the lower 16 bits count
  machine.wave->set64(sonde::gpu::kExec, 0x8000000000000001);
  // buffer_load_dword v0, s[0:3], 0 offen offset:8 lds
  EXPECT_EQ(machine.run({0xe0511008, 0x80000000}), Stop::kEnd);
  EXPECT_EQ(lds_at(16 + 8), 1000u + 63 + 2);
  EXPECT_EQ(lds_at(16 + 8 + 4), 0xeeeeeeeeu);
  EXPECT_EQ(lds_at(16 + 8 + 4 * 63), 1002u);
  machine.memory[2] = 0x80;
  machine.run({0xe0450008, 0x80000000});  // buffer_load_sbyte off, s[0:3], 0 offset:8 lds
  EXPECT_EQ(lds_at(16 + 8), 0xffffff80u);
  const auto at = reinterpret_cast<uint64_t>(machine.memory.data() + 40);
  machine.fill(0, static_cast<uint32_t>(at));
  machine.fill(1, static_cast<uint32_t>(at >> 32));
  machine.run({0xdc48a000, 0x007f0000});  // global_load_ushort v[0:1], off lds
  EXPECT_EQ(lds_at(16), 1040u);
  // flat_load_dword with the LDS bit is not an instruction.
  EXPECT_EQ(machine.run({0xdc502000, 0x00000000}), Stop::kUnknownInstruction);
}

// Lanes that are contiguous in memory, all but one, and only some of them.
TEST(Memory, RowsAreLikeAnyOtherLanes) {
  for (const unsigned odd : {64u, 5u}) {
    for (const uint64_t exec : {~uint64_t{0}, ~uint64_t{4}}) {
      Machine machine;
      std::vector<uint32_t> memory(1024), out(1024);
      for (uint32_t i = 0; i < 1024; ++i) memory[i] = 7 * i;
      const auto point_at = [&](const std::vector<uint32_t>& place, uint32_t bytes) {
        for (uint32_t lane = 0; lane < kLanes; ++lane) {
          const uint32_t at = lane == odd ? 900 * 4 : lane * bytes;
          const uint64_t address = reinterpret_cast<uint64_t>(place.data()) + at;
          machine.wave->v[0][lane] = static_cast<uint32_t>(address);
          machine.wave->v[1][lane] = static_cast<uint32_t>(address >> 32);
        }
      };
      machine.wave->set64(sonde::gpu::kExec, exec);
      point_at(memory, 16);
      machine.run({0xdc5c8000, 0x047f0000});  // global_load_dwordx4 v[4:7], v[0:1], off
      point_at(out, 8);
      machine.run({0xdc748000, 0x007f0400});  // global_store_dwordx2 v[0:1], v[4:5], off
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const bool is_on = exec >> lane & 1;
        const uint32_t from = lane == odd ? 900 : 4 * lane, to = lane == odd ? 900 : 2 * lane;
        EXPECT_EQ(machine.wave->v[7][lane], is_on ? memory[from + 3] : 0) << lane;
        EXPECT_EQ(out[to + 1], is_on ? memory[from + 1] : 0) << lane;
      }
    }
  }
}

TEST(Memory, GlobalDataShareHasNoBytes) {
  Machine machine;
  machine.fill(0, 0);
  machine.fill(1, 5);
  machine.fill(2, 77);
  EXPECT_EQ(machine.run({0xd8010000, 0x00000100}), Stop::kEnd);  // ds_add_u32 v0, v1 gds
  EXPECT_EQ(machine.lds[0], 0);
  machine.lds[0] = 9;
  EXPECT_EQ(machine.run({0xd86d0000, 0x02000000}), Stop::kEnd);  // ds_read_b32 v2, v0 gds
  EXPECT_EQ(machine.wave->v[2][5], 0u);
  EXPECT_EQ(machine.wave->group, &machine.group);
}

TEST(Memory, ScalarAtomics) {
  BufferMachine machine(0, 64);
  machine.memory[2] = 7;
  machine.wave->s[4] = 5;
  machine.wave->s[1] &= 0xffff;
  EXPECT_EQ(machine.run({0xc20b0100, 0x00000008}), Stop::kEnd);  // s_atomic_add s4, s[0:1], 0x8 glc
  EXPECT_EQ(machine.memory[2], 12u);
  EXPECT_EQ(machine.wave->s[4], 7u);
  machine.wave->set64(4, 99 | uint64_t{11} << 32);
  machine.run(
      {0xc2070100, 0x00000008});  // s_atomic_cmpswap s[4:5], s[0:1], 0x8 glc: 11 is not there
  EXPECT_EQ(machine.memory[2], 12u);
  EXPECT_EQ(machine.wave->s[4], 12u);
  machine.wave->set64(4, 99 | uint64_t{12} << 32);
  machine.run({0xc2070100, 0x00000008});
  EXPECT_EQ(machine.memory[2], 99u);
  machine.wave->s[4] = static_cast<uint32_t>(-3);
  machine.run({0xc2120100, 0x00000008});  // s_atomic_smin s4, s[0:1], 0x8: without the old value
  EXPECT_EQ(machine.memory[2], static_cast<uint32_t>(-3));
  EXPECT_EQ(machine.wave->s[4], static_cast<uint32_t>(-3));
  machine.memory[4] = 0xffffffff;
  machine.wave->s[6] = 16;
  machine.wave->set64(4, ~uint64_t{0});
  machine.run({0xc2ac0100, 0x00000006});  // s_atomic_inc_x2 s[4:5], s[0:1], s6
  EXPECT_EQ(machine.memory[4], 0u);
  EXPECT_EQ(machine.memory[5], 1u);
}

TEST(Memory, ScalarBuffersAndScratch) {
  BufferMachine machine(0, 16);
  machine.memory[2] = 40;
  machine.wave->s[4] = 2;
  EXPECT_EQ(machine.run({0xc10b0100, 0x00000008}),
            Stop::kEnd);  // s_buffer_atomic_add s4, s[0:3], 8 glc
  EXPECT_EQ(machine.memory[2], 42u);
  EXPECT_EQ(machine.wave->s[4], 40u);
  machine.wave->set64(4, uint64_t{1} << 32);
  machine.run({0xc19f0100, 0x00000008});  // s_buffer_atomic_umax_x2 s[4:5], s[0:3], 0x8 glc
  EXPECT_EQ(machine.memory[2], 0u);
  EXPECT_EQ(machine.memory[3], 1u);
  EXPECT_EQ(machine.wave->s[4], 42u);
  machine.wave->s[2] = 12;  // now the second half is out of bounds
  machine.wave->set64(4, 0x0000000700000006);
  machine.run({0xc0660100, 0x00000008});  // s_buffer_store_dwordx2 s[4:5], s[0:3], 0x8
  EXPECT_EQ(machine.memory[2], 6u);
  EXPECT_EQ(machine.memory[3], 1u);
  machine.wave->s[4] = 9;
  machine.wave->s[2] = 8;
  machine.run({0xc10b0100, 0x00000008});
  EXPECT_EQ(machine.memory[2], 6u);
  EXPECT_EQ(machine.wave->s[4], 0u);
  machine.wave->s[1] &= 0xffff;
  machine.wave->s[6] = 3;  // in units of 64 bytes
  machine.memory[48] = 1234;
  machine.run({0xc0140100, 0x00000006});  // s_scratch_load_dword s4, s[0:1], s6
  EXPECT_EQ(machine.wave->s[4], 1234u);
  machine.wave->set64(4, 0x0000000b0000000a);
  machine.run({0xc05a0100, 0x00000008});  // s_scratch_store_dwordx2 s[4:5], s[0:1], 0x8
  EXPECT_EQ(machine.memory[2], 10u);
  EXPECT_EQ(machine.memory[3], 11u);
}

TEST(Memory, AtomicsOfLdsTakeWholeWords) {
  Machine machine;
  machine.lds.assign(512, 0);
  machine.group.lds = machine.lds.data();
  machine.group.lds_bytes = 512;
  machine.wave->set64(sonde::gpu::kExec, 1);
  machine.fill(1, 7);
  auto* words = reinterpret_cast<uint32_t*>(machine.lds.data());
  machine.fill(0, 2);
  EXPECT_EQ(machine.run({0xd8000000, 0x00000100}), Stop::kMemoryViolation);  // ds_add_u32 v0, v1
  EXPECT_EQ(machine.run({0xd8000002, 0x00000100}), Stop::kEnd);              // offset:2
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[1], 7u);
  machine.fill(0, 4);
  EXPECT_EQ(machine.run({0xd8800000, 0x00000100}),
            Stop::kMemoryViolation);  // ds_add_u64 v0, v[1:2]
  machine.fill(0, 2);
  EXPECT_EQ(machine.run({0xd86c0000, 0x03000000}), Stop::kEnd);  // ds_read_b32 v3, v0
  EXPECT_EQ(machine.wave->v[3][0], 7u << 16);
}

TEST(Memory, LdsThatCompilersDoNotUse) {
  Machine machine;
  machine.lds.assign(512, 0);
  machine.group.lds = machine.lds.data();
  machine.group.lds_bytes = 512;
  auto* words = reinterpret_cast<uint32_t*>(machine.lds.data());
  for (uint32_t lane = 0; lane < kLanes; ++lane) machine.wave->v[1][lane] = lane * 3;
  machine.wave->s[sonde::gpu::kM0] = 16;
  machine.run({0xd83a0008, 0x00000100});  // ds_write_addtid_b32 v1 offset:8
  EXPECT_EQ(words[6 + 63], 189u);
  words[6 + 20] = 5;
  machine.run({0xd96c0008, 0x02000000});  // ds_read_addtid_b32 v2 offset:8
  EXPECT_EQ(machine.wave->v[2][20], 5u);
  EXPECT_EQ(machine.wave->v[2][21], 63u);

  machine.wave->set64(sonde::gpu::kExec, 3);
  machine.wave->v[0][0] = 0;
  machine.wave->v[0][1] = 4;
  words[0] = 10;
  words[1] = 3;
  machine.fill(1, 7);
  machine.fill(2, 100);
  machine.run({0xd8680000, 0x04020100});  // ds_wrap_rtn_b32 v4, v0, v1, v2
  EXPECT_EQ(words[0], 3u);                // 10 >= 7: less 7
  EXPECT_EQ(words[1], 103u);              // else plus 100
  EXPECT_EQ(machine.wave->v[4][0], 10u);
  EXPECT_EQ(machine.wave->v[4][1], 3u);

  machine.wave->set64(sonde::gpu::kExec, 1);
  machine.fill(2, 0x80000011);
  machine.fill(3, 0x00000022);
  machine.run({0xd8fc0000, 0x04000200});  // ds_condxchg32_rtn_b64 v[4:5], v0, v[2:3]
  EXPECT_EQ(words[0], 0x11u);
  EXPECT_EQ(words[1], 103u);
  EXPECT_EQ(machine.wave->v[5][0], 103u);

  constexpr auto kGfx906 = sonde::gpu::Architecture::kGfx906;
  words[2] = 1000;
  EXPECT_EQ(machine.run({0xd9000002, 0x00000000}, 1000, kGfx906),  // ds_add_src2_u32 v0 offset:2
            Stop::kEnd);
  EXPECT_EQ(words[0], 1017u);
  machine.wave->v[0][0] = 16 | static_cast<uint32_t>(-4) << 17;
  words[0] = bits(-1.5F);
  words[4] = bits(2);
  machine.run({0xd9248000, 0x00000000}, 1000, kGfx906);  // ds_min_src2_f32 v0 offset:32768
  EXPECT_EQ(words[4], bits(-1.5F));
  machine.wave->v[0][0] = 16;
  machine.run({0xd99a7ffe, 0x00000000}, 1000, kGfx906);  // ds_write_src2_b64 v0, two dwords before
  EXPECT_EQ(words[4], words[2]);
  EXPECT_EQ(machine.run({0xd9000002, 0x00000000}), Stop::kUnknownInstruction);  // not of gfx90a
}

}  // namespace
}  // namespace softgpu::isa
