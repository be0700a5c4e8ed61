// Every load and store for every kind of memory, by name: widths, signs, register halves.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "isa/test_machine.h"

namespace softgpu::isa {
namespace {

using sonde::gpu::Format;
using sonde::gpu::Opcode;

struct Transfer {
  bool is_load = false, is_signed = false, into_low = false, high = false;
  unsigned bytes = 0;  // in memory
};

// Parses flat_load_sbyte_d16_hi, buffer_store_dwordx3, ds_read_u16, ds_write_b8_d16_hi ...; 0
// bytes: not a transfer.
Transfer transfer_of(const Opcode& opcode) {
  std::string name(opcode.name);
  Transfer made;
  const auto take = [&](const std::string& end) {
    if (!name.ends_with(end)) return false;
    name.resize(name.size() - end.size());
    return true;
  };
  made.high = take("_d16_hi");
  made.into_low = !made.high && take("_d16");
  const struct {
    const char* end;
    unsigned bytes;
    bool is_load, is_signed;
  } kinds[] = {{"load_ubyte", 1, true, false},      {"load_sbyte", 1, true, true},
               {"load_ushort", 2, true, false},     {"load_sshort", 2, true, true},
               {"load_short", 2, true, false},      {"load_dword", 4, true, false},
               {"load_dwordx2", 8, true, false},    {"load_dwordx3", 12, true, false},
               {"load_dwordx4", 16, true, false},   {"store_byte", 1, false, false},
               {"store_short", 2, false, false},    {"store_dword", 4, false, false},
               {"store_dwordx2", 8, false, false},  {"store_dwordx3", 12, false, false},
               {"store_dwordx4", 16, false, false}, {"ds_read_u8", 1, true, false},
               {"ds_read_i8", 1, true, true},       {"ds_read_u16", 2, true, false},
               {"ds_read_i16", 2, true, true},      {"ds_read_b32", 4, true, false},
               {"ds_read_b64", 8, true, false},     {"ds_read_b96", 12, true, false},
               {"ds_read_b128", 16, true, false},   {"ds_write_b8", 1, false, false},
               {"ds_write_b16", 2, false, false},   {"ds_write_b32", 4, false, false},
               {"ds_write_b64", 8, false, false},   {"ds_write_b96", 12, false, false},
               {"ds_write_b128", 16, false, false}};
  for (const auto& kind : kinds) {
    if (!name.ends_with(kind.end) || name.starts_with("s_") || name.starts_with("tbuffer"))
      continue;
    made.bytes = kind.bytes;
    made.is_load = kind.is_load;
    made.is_signed = kind.is_signed;
  }
  return made;
}

constexpr unsigned kData = 8, kOffset = 16;

// The address is in v[0:1], or in v0 for LDS and private memory; the data in v[8:11]. The offset is
// 16 bytes.
Words words_of(const Opcode& opcode, bool is_load) {
  const uint32_t number = opcode.number, data = is_load ? kData << 24 : kData << 8;
  switch (opcode.format) {
    case Format::kDs:
      return {0xd8000000 | number << 17 | kOffset, data};
    case Format::kFlat:
    case Format::kScratch:
    case Format::kGlobal: {
      const uint32_t segment = opcode.format == Format::kFlat      ? 0
                               : opcode.format == Format::kScratch ? 1
                                                                   : 2;
      return {0xdc000000 | number << 18 | segment << 14 | kOffset, data | 0x7fu << 16};
    }
    default:  // offen: v0 is the offset
      return {0xe0000000 | number << 18 | 1u << 12 | kOffset, 0u | kData << 8 | 0x80u << 24};
  }
}

// Where byte n of lane 1's data is in memory: private memory interleaves the dwords of all lanes.
uint8_t* byte_of(Machine& machine, std::vector<uint8_t>& memory, Format format, unsigned n) {
  const unsigned at = kOffset + 4 + n;
  if (format == Format::kDs) return machine.lds.data() + at;
  if (format == Format::kScratch) return machine.own.data() + at / 4 * 256 + 4 + at % 4;
  return memory.data() + at;
}

void run_one(const Opcode& opcode, const Transfer& transfer) {
  Machine machine;
  std::vector<uint8_t> memory(256);
  machine.wave->set64(sonde::gpu::kExec, 2);  // lane 1
  const auto base = reinterpret_cast<uint64_t>(memory.data());
  const bool is_own = opcode.format == Format::kDs || opcode.format == Format::kScratch ||
                      opcode.format == Format::kMubuf;
  const uint64_t address = is_own ? 4 : base + 4;
  machine.fill(0, static_cast<uint32_t>(address));
  machine.fill(1, static_cast<uint32_t>(address >> 32));
  machine.wave->set64(0, base);
  machine.wave->s[2] = 256;
  uint8_t bytes[16] = {};
  for (unsigned n = 0; n < 16; ++n) {
    bytes[n] = static_cast<uint8_t>(0x91 + 17 * n);
    *byte_of(machine, memory, opcode.format, n) = transfer.is_load ? bytes[n] : 0xee;
  }
  uint32_t given[4] = {};
  std::memcpy(given, bytes, sizeof(given));
  for (unsigned row = 0; row < 4; ++row)
    machine.fill(kData + row, transfer.is_load ? 0x5a5a5a5a : given[row]);
  ASSERT_EQ(machine.run(words_of(opcode, transfer.is_load)), Stop::kEnd) << opcode.name;
  for (unsigned n = 0; n < 16 && !transfer.is_load; ++n) {
    const uint8_t wanted = n >= transfer.bytes ? 0xee : bytes[n + (transfer.high ? 2 : 0)];
    EXPECT_EQ(*byte_of(machine, memory, opcode.format, n), wanted) << opcode.name << " byte " << n;
  }
  if (!transfer.is_load) return;
  uint32_t wanted[4] = {0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a, 0x5a5a5a5a};
  std::memcpy(wanted, bytes, transfer.bytes);
  if (transfer.bytes < 4) {
    uint32_t value = transfer.bytes == 1 ? bytes[0] : bytes[0] | bytes[1] << 8;
    if (transfer.is_signed) value |= transfer.bytes == 1 ? 0xffffff00 : 0xffff0000;
    wanted[0] = value;
    if (transfer.into_low) wanted[0] = (value & 0xffff) | 0x5a5a0000;
    if (transfer.high) wanted[0] = value << 16 | 0x5a5a;
  }
  for (unsigned row = 0; row < 4; ++row) {
    EXPECT_EQ(machine.wave->v[kData + row][1], wanted[row]) << opcode.name << " register " << row;
    EXPECT_EQ(machine.wave->v[kData + row][0], 0x5a5a5a5au) << opcode.name;
  }
}

TEST(Transfers, AllOfThem) {
  unsigned tested = 0;
  for (const Opcode& opcode : sonde::gpu::all_opcodes()) {
    const Transfer transfer = transfer_of(opcode);
    if (transfer.bytes == 0 || (opcode.architectures & 4) == 0) continue;
    run_one(opcode, transfer);
    if (HasFailure()) return;
    ++tested;
  }
  EXPECT_GT(tested, 100u);
}

// Two places: 8-bit offsets for each, in elements or in units of 64 elements.
TEST(Transfers, TwoPlacesOfLds) {
  const struct {
    uint32_t number;  // of ds_write2; the matching read has this number plus 41
    unsigned bytes, step;
  } kinds[] = {{14, 4, 4}, {15, 4, 256}, {78, 8, 8}, {79, 8, 512}};
  for (const auto& kind : kinds) {
    Machine machine;
    machine.lds.assign(2048, 0);
    machine.group.lds = machine.lds.data();
    machine.group.lds_bytes = 2048;
    machine.wave->set64(sonde::gpu::kExec, 1);
    for (unsigned row = 0; row < 4; ++row) machine.fill(4 + row, 100 + row);
    const uint32_t second = 4 + kind.bytes / 4, offsets = 1 | 3 << 8;
    EXPECT_EQ(machine.run({0xd8000000 | kind.number << 17 | offsets, 4u << 8 | second << 16}),
              Stop::kEnd);
    uint32_t found[2] = {};
    std::memcpy(&found[0], machine.lds.data() + kind.step, 4);
    std::memcpy(&found[1], machine.lds.data() + 3 * kind.step, 4);
    EXPECT_EQ(found[0], 100u);
    EXPECT_EQ(found[1], 100 + kind.bytes / 4);
    EXPECT_EQ(machine.run({0xd8000000 | (kind.number + 41) << 17 | offsets, 10u << 24}),
              Stop::kEnd);
    for (unsigned row = 0; row < kind.bytes / 2; ++row)
      EXPECT_EQ(machine.wave->v[10 + row][0], 100 + row) << kind.number;
  }
}

}  // namespace
}  // namespace softgpu::isa
