// Instructions that move values between lanes, or between lanes and scalar registers.
#include "isa/lanes.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {
namespace {

u32 bits_below(int lane, int first) {
  const int count = lane - first;
  return count <= 0 ? 0 : count >= 32 ? ~u32{0} : (1U << count) - 1;
}

template <int first>
void count_below(Wave& w, const Op& op) {
  store_computed<u32, u32, u32>(w, op, [](int lane, u32 a, u32 b) {
    return b + static_cast<u32>(__builtin_popcount(a & bits_below(lane, first)));
  });
}

u32 lane_of(const Wave& w, const Op& op, unsigned n, u32 lane) {
  return n >= kFirstVgpr ? w.v[n - kFirstVgpr][lane & 63] : scalar(w, op, n);
}

}  // namespace

void add_lane(Table& t) {
  add(t, "v_mbcnt_lo_u32_b32", count_below<0>);
  add(t, "v_mbcnt_hi_u32_b32", count_below<32>);
  add(t, "v_readfirstlane_b32", [](Wave& w, const Op& op) {
    const u64 exec = w.exec();
    w.s[op.sdst] = lane_of(w, op, op.src[0], exec ? static_cast<u32>(__builtin_ctzll(exec)) : 0);
  });
  add(t, "v_readlane_b32", [](Wave& w, const Op& op) {
    w.s[op.sdst] = lane_of(w, op, op.src[0], scalar(w, op, op.src[1]));
  });
  add(t, "v_writelane_b32", [](Wave& w, const Op& op) {
    w.v[op.dst][scalar(w, op, op.src[1]) & 63] = scalar(w, op, op.src[0]);
  });
  add(t, "v_cndmask_b32", [](Wave& w, const Op& op) {
    u64 mask = w.exec();
    const u64 choice = scalar64(w, op, op.src[2]);
    // Sign modifiers apply: the values may be floating-point numbers.
    const Source<f32> a(w, op, 0, mask);
    const Source<f32> b(w, op, 1, mask);
    alignas(64) u32 out[kLanes];
    for (int half = 0; half < 2; half++) {
      const u32 bits = static_cast<u32>(choice >> 32 * half);
      for (int n = 0; n < 32; n++) {
        const int l = 32 * half + n;
        out[l] = bits & (1U << n) ? as<u32>(b[l]) : as<u32>(a[l]);
      }
    }
    finish(w, op, out, mask);
  });
  add(t, "v_swap_b32", [](Wave& w, const Op& op) {
    u32* a = w.v[op.dst];
    u32* b = w.v[op.src[0] - kFirstVgpr];
    each(w.exec(), [&](int l) {
      const u32 kept = a[l];
      a[l] = b[l];
      b[l] = kept;
    });
  });
  for (const char* name : {"v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"}) {
    add(t, name, lanes([](u32 a) { return a; }));
  }
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
