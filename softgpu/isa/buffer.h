// The addresses of buffer instructions: memory described by four SGPRs, raw, structured or
// swizzled.
#pragma once

#include "isa/memory.h"

namespace softgpu::isa::SOFTGPU_ISA_LEVEL {

struct Buffer {
  u64 base;
  u32 stride, records, index_stride, soffset;
  bool is_swizzled, adds_lane;
};

inline Buffer buffer_of(const Wave& w, const Op& op) {
  const u32* s = &w.s[op.src[0]];
  Buffer made{};
  made.base = s[0] | u64{s[1] & 0xffff} << 32;
  made.stride = s[1] >> 16 & 0x3fff;
  made.records = s[2];
  made.is_swizzled = s[1] >> 31;
  made.index_stride = 8U << (s[3] >> 21 & 3);
  made.adds_lane = s[3] >> 23 & 1;
  // The format's bits belong to the stride.
  if (made.adds_lane) made.stride |= (s[3] >> 15 & 15) << 14;
  made.soffset = op.mods.scalar_offset ? scalar(w, op, *op.mods.scalar_offset) : 0;
  return made;
}

inline Place place_of(Wave& w, const Op& op, const Buffer& buffer, int lane, u32 bytes) {
  const unsigned row = op.mods.vaddr;
  u32 index = buffer.adds_lane ? static_cast<u32>(lane) : 0;
  if (op.mods.idxen) index += w.v[row][lane];
  u64 offset = static_cast<u32>(op.mods.offset);
  if (op.mods.offen) offset += w.v[op.mods.idxen ? (row + 1) & 511 : row][lane];
  if (!buffer.is_swizzled) {
    const u64 place = u64{index} * buffer.stride + offset;
    const bool is_inside = buffer.stride == 0 || !op.mods.idxen
                               ? place + buffer.soffset + bytes <= buffer.records
                               : index < buffer.records;
    if (!is_inside) return {};
    return {reinterpret_cast<u8*>(buffer.base + buffer.soffset + place), 4};
  }
  const u64 group = index / buffer.index_stride, within = index % buffer.index_stride;
  const u64 place = (group * buffer.stride + (offset & ~u64{3})) * buffer.index_stride +
                    within * 4 + (offset & 3);
  u8* const p = reinterpret_cast<u8*>(buffer.base + buffer.soffset + place);
  const u8* const own = w.private_memory;
  const bool is_private = buffer.adds_lane;
  if (is_private && (p < own || p + bytes * kLanes >
                                    own + u64{w.group->private_bytes} * kLanes + 3 * u64{kLanes})) {
    w.stop = Stop::kMemoryViolation;
    return {};
  }
  if (!is_private && index >= buffer.records) return {};
  return {p, 4 * buffer.index_stride};
}

}  // namespace softgpu::isa::SOFTGPU_ISA_LEVEL
