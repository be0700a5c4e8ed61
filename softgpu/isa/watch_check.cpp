// Finds the bytes that an instruction accesses, for --check.
#include <string_view>

#include "isa/watch.h"

namespace softgpu::isa {
namespace {

using Name = std::string_view;
constexpr uint64_t kScalarMask = ~uint64_t{3};

// Their element sizes are in descriptors, or they access two places that are not operands.
bool is_left_out(Name name) {
  return name.find("_format_") != Name::npos || name.find("_src2_") != Name::npos ||
         name.find("addtid") != Name::npos;
}

uint64_t scalar_offset(const Wave& wave, const Op& op) {
  if (!op.mods.scalar_offset) return 0;
  const unsigned number = *op.mods.scalar_offset;
  return number == sonde::gpu::kLiteral ? op.literal : wave.s[number];
}

// For scalar instructions. False if the buffer's descriptor excludes the access, and for private
// memory, which is not shared.
bool find_scalar(const Wave& wave, const Op& op, uint32_t bytes, uint64_t& address) {
  const Name name = op.opcode->name;
  if (name.starts_with("s_scratch_")) return false;
  if (!name.starts_with("s_buffer_")) {
    address = (wave.s64(op.src[0]) + static_cast<uint64_t>(int64_t{op.mods.offset}) +
               scalar_offset(wave, op)) &
              kScalarMask;
    return true;
  }
  const uint32_t stride = wave.s[op.src[0] + 1] >> 16 & 0x3fff, records = wave.s[op.src[0] + 2];
  const uint64_t offset =
      (static_cast<uint32_t>(op.mods.offset) + scalar_offset(wave, op)) & kScalarMask;
  address = (wave.s64(op.src[0]) & 0xffffffffffff) + offset;
  return offset + bytes <= (stride != 0 ? uint64_t{stride} * records : records);
}

// The lanes whose access the buffer's descriptor permits; none if the buffer is private memory.
uint64_t lanes_in_buffer(const Wave& wave, const Op& op, const OpcodeClass& kind,
                         const uint64_t (&addresses)[kLanes]) {
  const uint32_t* s = &wave.s[op.src[0]];
  const bool adds_lane = s[3] >> 23 & 1, is_swizzled = s[1] >> 31;
  if (adds_lane) return 0;
  const uint32_t stride = s[1] >> 16 & 0x3fff, records = s[2];
  const uint64_t base = s[0] | uint64_t{s[1] & 0xffff} << 32;
  uint64_t lanes = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint32_t index = op.mods.idxen ? wave.v[op.mods.vaddr][lane] : 0;
    const bool is_raw = !is_swizzled && (stride == 0 || !op.mods.idxen);
    const bool is_inside =
        is_raw ? addresses[lane] - base + kind.bytes <= records : index < records;
    if (is_inside) lanes |= uint64_t{1} << lane;
  }
  return lanes;
}

}  // namespace

void GroupWatch::passes_barrier() {
  if (watch_->check != nullptr) check_.passes_barrier();
}

// A finding that ends the wave is reported with its end; any other is reported here, and the wave
// continues.
void GroupWatch::check_at(Wave& wave, const GroupCheck::Use& use) {
  if (use.exec == 0 || wave.stop != Stop::kNone) return;
  if (check_.sees(use)) {
    bad_access_ = check_.findings().front();
    wave.stop = Stop::kBadAccess;
    return;
  }
  for (const Finding& finding : check_.findings()) {
    if (!watch_->check->is_new(entry_, finding)) continue;
    if (watch_->waves != nullptr) {
      watch_->waves->state(place_at(last_), wave, name_of(finding.kind), *kernel_, &finding,
                           check_.own());
    } else if (watch_->tell) {
      watch_->tell("kernel " + watch_->kernel + ": " + text_of(finding));
    }
  }
  if (watch_->tell && check_.begins_to_miss_races()) {
    watch_->tell("kernel " + watch_->kernel +
                 ": a work-group accesses more memory between two barriers than is checked for"
                 " races; some may be missed");
  }
}

void GroupWatch::check(Wave& wave, const Op& op, const OpcodeClass& kind) {
  if (op.mods.gds) return;
  if (is_left_out(op.opcode->name)) {
    if (kind.space == Space::kLds) check_.loses_local();
    return;
  }
  GroupCheck::Use use{wave, op, kind, addresses_, wave.exec(), 0, false};
  switch (kind.space) {
    case Space::kScalar: {
      uint64_t address = 0;
      if (!find_scalar(wave, op, kind.bytes, address)) return;
      use.addresses = {&address, 1};
      use.exec = 1;
      return check_at(wave, use);
    }
    case Space::kLds:
      use.is_local = true;
      for (; use.place < kind.places; ++use.place) {
        find_addresses(wave, op, kind, use.place);
        // The hardware adds with 32 bits.
        for (uint64_t& address : addresses_) address = static_cast<uint32_t>(address);
        check_at(wave, use);
      }
      return;
    case Space::kGlobal:
      find_addresses(wave, op, kind, 0);
      return check_at(wave, use);
    case Space::kBuffer:
      find_addresses(wave, op, kind, 0);
      use.exec &= lanes_in_buffer(wave, op, kind, addresses_);
      return check_at(wave, use);
    case Space::kFlat: {
      find_addresses(wave, op, kind, 0);
      uint64_t local = 0, own = 0;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const auto aperture = static_cast<uint32_t>(addresses_[lane] >> 32);
        if (aperture == kLdsAperture) local |= uint64_t{1} << lane;
        if (aperture == kPrivateAperture) own |= uint64_t{1} << lane;
      }
      use.exec = wave.exec() & ~local & ~own;
      check_at(wave, use);
      if ((wave.exec() & local) == 0) return;
      for (uint64_t& address : addresses_) address = static_cast<uint32_t>(address);
      use.exec = wave.exec() & local;
      use.is_local = true;
      return check_at(wave, use);
    }
    case Space::kScratch:
    case Space::kNone:
      return;
  }
}

}  // namespace softgpu::isa
