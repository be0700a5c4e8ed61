// Branches, barriers, messages, and hardware registers.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

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

// The stack of pending branches: entries of four SGPRs, with a lane mask and an address; MODE has
// their number.
constexpr u32 kStackShift = 29;
u32 stack_depth(const Wave& w) { return w.mode >> kStackShift; }
void set_stack_depth(Wave& w, u32 depth) {
  w.mode = (w.mode & ((1U << kStackShift) - 1)) | depth << kStackShift;
}
void push_branch(Wave& w, u64 lanes, u64 target) {
  const u32 at = stack_depth(w) * 4;
  w.set64(at, lanes);
  w.set64(at + 2, target);
  set_stack_depth(w, stack_depth(w) + 1);
}
// The smaller part of the lanes goes first, which keeps the stack small.
void fork_to(Wave& w, u64 condition, u64 target) {
  const u64 pass = condition & w.exec(), fail = ~condition & w.exec();
  if (fail == 0) {
    w.pc = target;
  } else if (pass != 0 && __builtin_popcountll(fail) < __builtin_popcountll(pass)) {
    push_branch(w, pass, target);
    w.set64(sonde::gpu::kExec, fail);
  } else if (pass != 0) {
    push_branch(w, fail, w.pc);
    w.set64(sonde::gpu::kExec, pass);
    w.pc = target;
  }
}
void add_forks(Table& t) {
  add(t, "s_cbranch_g_fork", [](Wave& w, const Op& op) {
    fork_to(w, scalar64(w, op, op.src[0]), scalar64(w, op, op.src[1]));
  });
  add(t, "s_cbranch_i_fork", [](Wave& w, const Op& op) {
    fork_to(w, w.s64(op.dst),
            w.pc + static_cast<u64>(i64{static_cast<i16>(op.mods.immediate)} * 4));
  });
  add(t, "s_cbranch_join", [](Wave& w, const Op& op) {
    if (stack_depth(w) == scalar(w, op, op.src[0]) || stack_depth(w) == 0) return;
    set_stack_depth(w, stack_depth(w) - 1);
    const u32 at = stack_depth(w) * 4;
    w.set64(sonde::gpu::kExec, w.s64(at));
    w.pc = w.s64(at + 2);
  });
}

void send_message(Wave& w, const Op& op) {
  constexpr u32 kInterrupt = 1, kGetDoorbell = 10;
  const u32 message = op.mods.immediate & 15;
  const bool is_interrupt = message == kInterrupt;
  if (message == kGetDoorbell) w.s[sonde::gpu::kExec] = w.group->doorbell;
  const u32 value = w.s[sonde::gpu::kM0] & 0xffffff;
  if (is_interrupt && w.is_in_handler && w.group->driver_interrupt != nullptr) {
    *w.group->driver_interrupt = value;
  } else if (is_interrupt && w.group->interrupt) {
    w.group->interrupt(w.group->context, value);
  }
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
  add(t, "s_sleep", [](Wave& w, const Op&) { w.yields = true; });
  add(t, "s_endpgm", [](Wave& w, const Op&) { w.stop = Stop::kEnd; });
  for (const char* name : {"s_rfe_b64", "s_rfe_restore_b64"}) {
    add(t, name, [](Wave& w, const Op& op) {
      w.pc = w.is_in_handler ? scalar64(w, op, op.src[0]) & 0xffffffffffff : op.address;
      w.stop = w.is_in_handler ? Stop::kReturn : Stop::kUnknownInstruction;
    });
  }
  add(t, "s_endpgm_saved", [](Wave& w, const Op&) { w.stop = Stop::kEnd; });
  add(t, "s_endpgm_ordered_ps_done", [](Wave& w, const Op&) { w.stop = Stop::kEnd; });
  add(t, "s_barrier", [](Wave& w, const Op&) { w.stop = Stop::kBarrier; });
  add(t, "s_trap", [](Wave& w, const Op& op) {
    w.trap_id = op.mods.immediate & 255;
    w.stop = Stop::kTrap;
  });
  add(t, "s_sethalt", [](Wave& w, const Op& op) {
    if (op.mods.immediate & 1) w.stop = Stop::kHalt;
  });
  add(t, "s_sendmsg", send_message);
  add(t, "s_sendmsghalt", [](Wave& w, const Op& op) {
    send_message(w, op);
    w.stop = Stop::kHalt;
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
      return status_of(w);
    case kTrapStatus:
      return w.trap_status;
    case kMemoryBases:
      return (kPrivateAperture >> 16) | (kLdsAperture >> 16) << 16;
    default:  // where the wave runs, and its resources: this machine has only one place
      return 0;
  }
}

// Whether vector instructions are skipped is in MODE, and in the flags that run() checks for
// special cases.
constexpr u32 kSkipBit = 1U << 28;
void show_skipping(Wave& w) {
  w.gpr_index = (w.gpr_index & ~kSkipsVectors) | (w.mode & kSkipBit ? kSkipsVectors : 0);
}

void set_status(Wave& w, u32 status) {
  w.scc = status & 1;
  w.is_halted = status >> 13 & 1;
}

void set_hardware_register(Wave& w, const Op& op, u32 value) {
  const u32 id = op.mods.immediate & 63, offset = op.mods.immediate >> 6 & 31,
            bits = (op.mods.immediate >> 11 & 31) + 1;
  const u32 field = (bits == 32 ? ~u32{0} : (1U << bits) - 1) << offset;
  if (id == kTrapStatus) w.trap_status = (w.trap_status & ~field) | (value << offset & field);
  if (id == kStatus && w.is_in_handler)
    set_status(w, (status_of(w) & ~field) | (value << offset & field));
  if (id != kMode) return;
  w.mode = (w.mode & ~field) | (value << offset & field);
  show_skipping(w);
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
  // M0 7:0 is the index; bits 15:12 select the operands, like the immediate.
  add(t, "s_set_gpr_idx_on", [](Wave& w, const Op& op) {
    w.gpr_index &= kSkipsVectors;
    w.gpr_index |= 0x10000 | (scalar(w, op, op.src[0]) & 255) | (op.raw[0] >> 8 & 15) << 12;
    w.s[sonde::gpu::kM0] = (w.s[sonde::gpu::kM0] & 0xffff0f00) | (w.gpr_index & 0xf0ff);
  });
  add(t, "s_set_gpr_idx_off", [](Wave& w, const Op&) { w.gpr_index &= kSkipsVectors; });
  add(t, "s_set_gpr_idx_idx", [](Wave& w, const Op& op) {
    w.s[sonde::gpu::kM0] = (w.s[sonde::gpu::kM0] & ~u32{255}) | (scalar(w, op, op.src[0]) & 255);
    w.gpr_index = (w.gpr_index & ~u32{255}) | (w.s[sonde::gpu::kM0] & 255);
  });
  add(t, "s_set_gpr_idx_mode", [](Wave& w, const Op& op) {
    w.gpr_index = (w.gpr_index & ~u32{0xf000}) | (op.mods.immediate & 15U) << 12;
  });
  add(t, "s_setvskip", [](Wave& w, const Op& op) {
    const u32 skips = scalar(w, op, op.src[0]) >> (scalar(w, op, op.src[1]) & 31) & 1;
    w.mode = (w.mode & ~kSkipBit) | (skips ? kSkipBit : 0);
    show_skipping(w);
  });
}

// The device's resource, and the value of the first active lane.
u32 sync_resource(const Wave& w, const Op& op) {
  return (w.s[sonde::gpu::kM0] >> 16) + static_cast<u32>(op.mods.offset);
}
u32 sync_value(const Wave& w, const Op& op) {
  const u64 exec = w.exec();
  return w.v[op.src[0] - kFirstVgpr][exec ? __builtin_ctzll(exec) : 0];
}
void wait_for(Wave& w, GlobalWait wait) {
  w.wait = wait;
  if (wait.kind != GlobalWait::kNothing) w.stop = Stop::kGlobalWait;
}
void add_global_sync(Table& t) {
  add(t, "ds_gws_init", [](Wave& w, const Op& op) {
    if (w.exec()) w.group->sync->set(sync_resource(w, op), sync_value(w, op));
  });
  add(t, "ds_gws_barrier", [](Wave& w, const Op& op) {
    if (w.exec()) wait_for(w, w.group->sync->arrive(sync_resource(w, op), sync_value(w, op)));
  });
  add(t, "ds_gws_sema_v",
      [](Wave& w, const Op& op) { w.group->sync->add(sync_resource(w, op), 1); });
  add(t, "ds_gws_sema_br", [](Wave& w, const Op& op) {
    if (w.exec()) w.group->sync->add(sync_resource(w, op), sync_value(w, op));
  });
  add(t, "ds_gws_sema_p",
      [](Wave& w, const Op& op) { wait_for(w, w.group->sync->take(sync_resource(w, op))); });
  add(t, "ds_gws_sema_release_all",
      [](Wave& w, const Op& op) { w.group->sync->release_all(sync_resource(w, op)); });
}

}  // namespace

void add_control(Table& table) {
  add_global_sync(table);
  add_branches(table);
  add_forks(table);
  add_waits(table);
  add_registers(table);
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
