// Branches, barriers, messages, registers of the hardware, and scalar memory.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

constexpr u32 kScalarAddressMask = ~u32{3};

template <class F>
Handler branch_if(F) {
  return [](Wave& w, const Op& op) {
    if (F{}(w)) w.pc += static_cast<u64>(i64{static_cast<i16>(op.mods.immediate)} * 4);
  };
}
void nothing(Wave&, const Op&) {}

void add_branches(Table& t) {
  add(t, "s_branch", branch_if([](const Wave&) { return true; }));
  add(t, "s_cbranch_scc0", branch_if([](const Wave& w) { return w.scc == 0; }));
  add(t, "s_cbranch_scc1", branch_if([](const Wave& w) { return w.scc != 0; }));
  add(t, "s_cbranch_vccz", branch_if([](const Wave& w) { return w.vcc() == 0; }));
  add(t, "s_cbranch_vccnz", branch_if([](const Wave& w) { return w.vcc() != 0; }));
  add(t, "s_cbranch_execz", branch_if([](const Wave& w) { return w.exec() == 0; }));
  add(t, "s_cbranch_execnz", branch_if([](const Wave& w) { return w.exec() != 0; }));
  // No debugger is attached.
  for (const char* name : {"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user",
                           "s_cbranch_cdbgsys_and_user"}) {
    add(t, name, nothing);
  }
  add(t, "s_getpc_b64", [](Wave& w, const Op& op) { w.set64(op.dst, w.pc); });
  add(t, "s_setpc_b64", [](Wave& w, const Op& op) { w.pc = scalar64(w, op, op.src[0]); });
  add(t, "s_swappc_b64", [](Wave& w, const Op& op) {
    const u64 to = scalar64(w, op, op.src[0]);
    w.set64(op.dst, w.pc);
    w.pc = to;
  });
  add(t, "s_call_b64", [](Wave& w, const Op& op) {
    w.set64(op.dst, w.pc);
    w.pc += static_cast<u64>(i64{static_cast<i16>(op.mods.immediate)} * 4);
  });
}

void add_waits(Table& t) {
  for (const char* name : {"s_nop",
                           "s_waitcnt",
                           "s_setprio",
                           "s_icache_inv",
                           "s_wakeup",
                           "s_incperflevel",
                           "s_decperflevel",
                           "s_ttracedata",
                           "s_dcache_inv",
                           "s_dcache_inv_vol",
                           "s_dcache_wb",
                           "s_dcache_wb_vol",
                           "s_dcache_discard",
                           "s_dcache_discard_x2",
                           "v_nop",
                           "v_clrexcp",
                           "buffer_wbl2",
                           "buffer_invl2",
                           "buffer_wbinvl1",
                           "buffer_wbinvl1_vol",
                           "s_setkill"}) {
    add(t, name, nothing);
  }
  add(t, "s_sleep", [](Wave& w, const Op&) { w.takes_turn = true; });
  add(t, "s_endpgm", [](Wave& w, const Op&) { w.stop = Stop::kEnd; });
  add(t, "s_endpgm_saved", [](Wave& w, const Op&) { w.stop = Stop::kEnd; });
  add(t, "s_barrier", [](Wave& w, const Op&) { w.stop = Stop::kBarrier; });
  add(t, "s_trap", [](Wave& w, const Op& op) {
    w.trap_id = op.mods.immediate & 255;
    w.stop = Stop::kTrap;
  });
  add(t, "s_sethalt", [](Wave& w, const Op& op) {
    if (op.mods.immediate & 1) w.stop = Stop::kTrap;
  });
  add(t, "s_sendmsg", [](Wave& w, const Op& op) {
    const bool is_interrupt = (op.mods.immediate & 15) == 1;
    if (is_interrupt && w.group->interrupt)
      w.group->interrupt(w.group->context, w.s[sonde::gpu::kM0] & 0xffffff);
  });
}

// HW_REG_*: id in bits 5:0 of the immediate, offset in 10:6, size - 1 in 15:11.
enum HardwareRegister : u32 {
  kMode = 1,
  kStatus = 2,
  kTrapStatus = 3,
  kHardwareId = 4,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kMemoryBases = 15
};

u32 hardware_register(const Wave& w, u32 id) {
  switch (id) {
    case kMode:
      return w.mode;
    case kStatus:
      return (w.scc & 1) | u32{w.exec() == 0} << 9 | u32{w.vcc() == 0} << 10;
    case kMemoryBases:
      return (kPrivateAperture >> 16) | (kLdsAperture >> 16) << 16;
    default:  // where the wave runs, and what it has been given: this machine has one place
      return 0;
  }
}

void set_hardware_register(Wave& w, const Op& op, u32 value) {
  const u32 id = op.mods.immediate & 63, offset = op.mods.immediate >> 6 & 31,
            bits = (op.mods.immediate >> 11 & 31) + 1;
  if (id != kMode) return;
  const u32 field = (bits == 32 ? ~u32{0} : (1U << bits) - 1) << offset;
  w.mode = (w.mode & ~field) | (value << offset & field);
}

void add_registers(Table& t) {
  add(t, "s_getreg_b32", [](Wave& w, const Op& op) {
    const u32 offset = op.mods.immediate >> 6 & 31, bits = (op.mods.immediate >> 11 & 31) + 1;
    const u32 value = hardware_register(w, op.mods.immediate & 63) >> offset;
    w.s[op.dst] = bits == 32 ? value : value & ((1U << bits) - 1);
  });
  add(t, "s_setreg_b32", [](Wave& w, const Op& op) { set_hardware_register(w, op, w.s[op.dst]); });
  add(t, "s_setreg_imm32_b32",
      [](Wave& w, const Op& op) { set_hardware_register(w, op, op.literal); });
  add(t, "s_memtime", [](Wave& w, const Op& op) { w.set64(op.dst, w.executed * 4); });
  add(t, "s_memrealtime", [](Wave& w, const Op& op) {
    w.set64(op.dst, w.group->clock ? w.group->clock(w.group->context) : w.executed);
  });
  // M0 7:0 is the index; bits 15:12 say for which operands, as the immediate does.
  add(t, "s_set_gpr_idx_on", [](Wave& w, const Op& op) {
    w.gpr_index = 0x10000 | (scalar(w, op, op.src[0]) & 255) | (op.raw[0] >> 8 & 15) << 12;
    w.s[sonde::gpu::kM0] = (w.s[sonde::gpu::kM0] & 0xffff0f00) | (w.gpr_index & 0xf0ff);
  });
  add(t, "s_set_gpr_idx_off", [](Wave& w, const Op&) { w.gpr_index = 0; });
  add(t, "s_set_gpr_idx_idx", [](Wave& w, const Op& op) {
    w.s[sonde::gpu::kM0] = (w.s[sonde::gpu::kM0] & ~u32{255}) | (scalar(w, op, op.src[0]) & 255);
    w.gpr_index = (w.gpr_index & ~u32{255}) | (w.s[sonde::gpu::kM0] & 255);
  });
  add(t, "s_set_gpr_idx_mode", [](Wave& w, const Op& op) {
    w.gpr_index = (w.gpr_index & ~u32{0xf000}) | (op.mods.immediate & 15U) << 12;
  });
}

u64 scalar_address(const Wave& w, const Op& op) {
  u64 address = w.s64(op.src[0]) + static_cast<u64>(i64{op.mods.offset});
  if (op.mods.scalar_offset) address += scalar(w, op, *op.mods.scalar_offset);
  return address & (~u64{0} << 32 | kScalarAddressMask);
}

// A buffer's base and size are in its descriptor; what is outside reads as zero.
bool buffer_place(const Wave& w, const Op& op, u32 bytes, u64& address) {
  const u64 base = w.s64(op.src[0]) & 0xffffffffffff;
  const u32 stride = w.s[op.src[0] + 1] >> 16 & 0x3fff, records = w.s[op.src[0] + 2];
  u64 offset = static_cast<u32>(op.mods.offset);
  if (op.mods.scalar_offset) offset += scalar(w, op, *op.mods.scalar_offset);
  offset &= kScalarAddressMask;
  address = base + offset;
  return offset + bytes <= (stride ? u64{stride} * records : records);
}

template <int dwords>
void load(Wave& w, const Op& op) {
  __builtin_memcpy(&w.s[op.dst], reinterpret_cast<const void*>(scalar_address(w, op)), dwords * 4);
}
template <int dwords>
void store(Wave& w, const Op& op) {
  __builtin_memcpy(reinterpret_cast<void*>(scalar_address(w, op)), &w.s[op.dst], dwords * 4);
}
template <int dwords>
void buffer_load(Wave& w, const Op& op) {
  u32 got[dwords] = {};
  for (u32 d = 0; d < dwords; d++) {
    u64 address = 0;
    if (buffer_place(w, op, 4 * (d + 1), address))
      __builtin_memcpy(&got[d], reinterpret_cast<const void*>(address + 4 * d), 4);
  }
  for (u32 d = 0; d < dwords; d++) w.s[op.dst + d] = got[d];
}

}  // namespace

void add_control(Table& table) {
  add_branches(table);
  add_waits(table);
  add_registers(table);
}

void add_scalar_memory(Table& t) {
  add(t, "s_load_dword", load<1>);
  add(t, "s_load_dwordx2", load<2>);
  add(t, "s_load_dwordx4", load<4>);
  add(t, "s_load_dwordx8", load<8>);
  add(t, "s_load_dwordx16", load<16>);
  add(t, "s_store_dword", store<1>);
  add(t, "s_store_dwordx2", store<2>);
  add(t, "s_store_dwordx4", store<4>);
  add(t, "s_buffer_load_dword", buffer_load<1>);
  add(t, "s_buffer_load_dwordx2", buffer_load<2>);
  add(t, "s_buffer_load_dwordx4", buffer_load<4>);
  add(t, "s_buffer_load_dwordx8", buffer_load<8>);
  add(t, "s_buffer_load_dwordx16", buffer_load<16>);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
