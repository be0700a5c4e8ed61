#include "isa/check.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace softgpu::isa {
namespace {

bool is_scalar(const GroupCheck::Use& use) { return use.kind.space == Space::kScalar; }

unsigned first_lane(uint64_t exec) { return static_cast<unsigned>(__builtin_ctzll(exec)); }

// Calls f(lane, address) for each active lane.
template <class F>
void each_lane(const GroupCheck::Use& use, F f) {
  if (is_scalar(use))
    return f(use.wave.exec() != 0 ? first_lane(use.wave.exec()) : 0U, use.addresses[0]);
  for (uint64_t left = use.exec; left != 0; left &= left - 1) {
    const unsigned lane = first_lane(left);
    f(lane, use.addresses[lane]);
  }
}

// Compilers load whole dwords of scalar memory if its first byte is accessible, and four dwords
// instead of three if the address is aligned to four.
bool is_overread(const GroupCheck::Use& use, uint64_t wrong) {
  if (!is_scalar(use) || use.kind.access != Access::kLoad) return false;
  const uint64_t begin = use.addresses[0];
  return wrong % 4 != 0 || (use.kind.bytes == 16 && begin % 16 == 0 && wrong == begin + 12);
}

// The byte that a lane stores, `byte` bytes after its address. High-half stores take the upper
// half.
uint8_t stored_byte(const GroupCheck::Use& use, unsigned lane, uint64_t byte) {
  const sonde::gpu::Format format = use.op.opcode->format;
  const bool is_buffer =
      format == sonde::gpu::Format::kMubuf || format == sonde::gpu::Format::kMtbuf;
  const unsigned row = is_buffer ? use.op.dst : use.op.src[1 + use.place] - unsigned{kFirstVgpr};
  const bool is_high = use.op.opcode->name.ends_with("_d16_hi");
  const uint64_t at = byte + (is_high ? 2 : 0);
  return static_cast<uint8_t>(use.wave.v[(row + at / 4) & 511][lane] >> at % 4 * 8);
}

const char* verb_of(Access access) {
  return access == Access::kLoad    ? "loads"
         : access == Access::kStore ? "stores"
                                    : "atomically changes";
}

}  // namespace

const char* name_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kOutOfBounds:
      return "out_of_bounds";
    case Finding::Kind::kUseAfterFree:
      return "use_after_free";
    case Finding::Kind::kUninitialised:
      return "uninitialised_read";
    case Finding::Kind::kRace:
      return "race";
  }
  return "";
}

std::string text_of(const Finding& finding) {
  const auto who = [](bool is_scalar, uint32_t lane) {
    return is_scalar ? std::string("a scalar access") : "lane " + std::to_string(lane);
  };
  char text[256];
  const char* const where = finding.is_local ? "LDS offset " : "";
  int length = std::snprintf(text, sizeof(text), "%s: at %#llx %s %s %u %s at %s%#llx",
                             name_of(finding.kind), static_cast<unsigned long long>(finding.pc),
                             who(finding.is_scalar, finding.lane).c_str(), verb_of(finding.access),
                             finding.bytes, finding.bytes == 1 ? "byte" : "bytes", where,
                             static_cast<unsigned long long>(finding.address));
  if (finding.kind == Finding::Kind::kRace && length > 0) {
    std::snprintf(text + length, sizeof(text) - static_cast<size_t>(length),
                  ", which at %#llx %s of wave %u %s without a barrier between",
                  static_cast<unsigned long long>(finding.other_pc),
                  who(finding.other_is_scalar, finding.other_lane).c_str(), finding.other_wave,
                  finding.other_writes ? "stores" : "loads");
  }
  return text;
}

// Kernels share functions: a finding in one kernel is news for another.
bool Check::is_new(uint64_t entry, const Finding& finding) {
  std::lock_guard lock(mutex_);
  // The two accesses of a race come in either order.
  const uint64_t first = std::min(finding.pc, finding.other_pc),
                 second = std::max(finding.pc, finding.other_pc);
  return known_.size() < kMost && known_.emplace(entry, finding.kind, first, second).second;
}

void GroupCheck::begin(Check& check, std::span<const OwnMemory> own, const Group& group) {
  check_ = &check;
  own_.assign(own.begin(), own.end());
  code_ = group.code;
  waves_ = group.waves;
  written_.assign(check.allocations() != nullptr ? group.lds_bytes : 0, false);
  version_ = 0;
  findings_.clear();
  shadow_.clear();
}

void GroupCheck::add(const Use& use, Finding finding, unsigned lane, uint64_t begin) {
  for (Finding& known : findings_) {
    if (known.kind != finding.kind) continue;
    if (known.lane != lane) ++known.lanes;
    return;
  }
  finding.lane = lane;
  finding.begin = begin;
  finding.is_local = use.is_local;
  finding.is_scalar = is_scalar(use);
  finding.access = use.kind.access;
  finding.bytes = use.kind.bytes;
  finding.pc = use.op.address;
  findings_.push_back(finding);
}

bool GroupCheck::sees(const Use& use) {
  findings_.clear();
  if (use.kind.bytes == 0 || use.exec == 0) return false;
  if (check_->allocations() != nullptr) {
    if (use.is_local ? check_local_bounds(use) : check_bounds(use)) return true;
    if (use.is_local) {
      check_local_initialised(use);
    } else if (use.kind.access != Access::kStore) {
      check_initialised(use);
    }
  }
  if (check_->checks_races()) check_races(use);
  return false;
}

bool GroupCheck::is_inside(uint64_t begin, uint64_t end, bool& is_filled) {
  const Allocations& allocations = *check_->allocations();
  if (const uint64_t now = allocations.version(); now != version_) {
    for (auto& each : recent_) each = {};
    version_ = now;
  }
  for (const auto& each : recent_) {
    if (begin < each.begin || end > each.end) continue;
    is_filled = each.is_filled;
    return true;
  }
  const Allocations::Found found = allocations.find(begin);
  if (!found.may_be_touched()) return false;
  recent_[next_recent_++ % kRecent] = found;
  is_filled = found.is_filled;
  return end <= found.end;
}

// 0 if nothing is wrong.
uint64_t GroupCheck::first_wrong(uint64_t address, uint32_t bytes, Finding::Kind& kind) const {
  using Kind = Allocations::Kind;
  const uint64_t end = address + bytes;
  for (const OwnMemory& own : own_) {
    if (address >= own.address && end <= own.address + own.bytes) return 0;
  }
  for (uint64_t at = address; at < end;) {
    const auto found = check_->allocations()->find(at);
    kind = found.kind == Kind::kFreed ? Finding::Kind::kUseAfterFree : Finding::Kind::kOutOfBounds;
    if (!found.may_be_touched()) return at;
    if (found.kind == Kind::kBuffer && found.end < end) return found.end;
    at = found.end;
  }
  return 0;
}

bool GroupCheck::check_bounds(const Use& use) {
  uint64_t least = ~uint64_t{0}, most = 0;
  each_lane(use, [&](unsigned, uint64_t address) {
    least = std::min(least, address);
    most = std::max(most, address);
  });
  bool is_filled = false;
  if (most + use.kind.bytes > most && is_inside(least, most + use.kind.bytes, is_filled))
    return false;
  bool is_wrong = false;
  each_lane(use, [&](unsigned lane, uint64_t address) {
    Finding finding;
    finding.address = first_wrong(address, use.kind.bytes, finding.kind);
    // An access at address 0 is wrong, too.
    if ((finding.address == 0 && address != 0) || is_overread(use, finding.address)) return;
    add(use, finding, lane, address);
    is_wrong = true;
  });
  return is_wrong;
}

bool GroupCheck::check_local_bounds(const Use& use) {
  const uint64_t size = use.wave.group->lds_bytes;
  bool is_wrong = false;
  each_lane(use, [&](unsigned lane, uint64_t address) {
    if (address + use.kind.bytes <= size) return;
    Finding finding;
    finding.address = std::max(address, size);
    add(use, finding, lane, address);
    is_wrong = true;
  });
  return is_wrong;
}

// Looks for whole dwords that still contain the fill value.
void GroupCheck::check_initialised(const Use& use) {
  if (use.kind.access == Access::kAtomic &&
      use.op.opcode->name.find("swap") != std::string_view::npos)
    return;  // takes any value
  each_lane(use, [&](unsigned lane, uint64_t address) {
    bool is_filled = false;
    if (!is_inside(address, address + use.kind.bytes, is_filled) || !is_filled) return;
    for (uint64_t at = address & ~uint64_t{3}; at < address + use.kind.bytes; at += 4) {
      uint32_t word = 0;
      std::memcpy(&word, reinterpret_cast<const void*>(at), 4);
      if (word != Allocations::fill_at(at)) continue;
      Finding finding;
      finding.kind = Finding::Kind::kUninitialised;
      finding.address = std::max(at, address);
      add(use, finding, lane, address);
      return;
    }
  });
}

// Reports only whole dwords that were never written: the rest may be padding.
void GroupCheck::check_local_initialised(const Use& use) {
  const std::string_view name = use.op.opcode->name;
  const bool takes_any = name.find("wrxchg") != name.npos || name.find("swap") != name.npos;
  const auto is_written = [&](uint64_t at) { return at >= written_.size() || written_[at]; };
  const uint64_t step = use.kind.bytes < 4 ? 1 : 4;
  each_lane(use, [&](unsigned lane, uint64_t address) {
    const uint64_t end = address + use.kind.bytes;
    for (uint64_t at = address; use.kind.access != Access::kStore && !takes_any && at < end;
         at += step) {
      bool any = false;
      for (uint64_t byte = at; byte < std::min(at + step, end); ++byte) any |= is_written(byte);
      if (any) continue;
      Finding finding;
      finding.kind = Finding::Kind::kUninitialised;
      finding.address = at;
      add(use, finding, lane, address);
      break;
    }
  });
  if (use.kind.access == Access::kLoad) return;
  each_lane(use, [&](unsigned, uint64_t address) {
    for (uint64_t at = address; at < address + use.kind.bytes && at < written_.size(); ++at)
      written_[at] = true;
  });
}

// Atomic and coherent accesses do not race.
void GroupCheck::check_races(const Use& use) {
  const bool writes = use.kind.access == Access::kStore;
  if (use.kind.access == Access::kAtomic || use.op.mods.glc) return;
  if (writes) check_lanes(use);
  if (waves_ < 2) return;
  RaceShadow::Mark mark;
  mark.place = static_cast<uint32_t>(use.op.address - code_);
  mark.wave = static_cast<uint8_t>(use.wave.number);
  mark.is_there = true;
  mark.is_scalar = is_scalar(use);
  each_lane(use, [&](unsigned lane, uint64_t address) {
    mark.lane = static_cast<uint8_t>(lane);
    const auto conflict = shadow_.access(address, use.kind.bytes, use.is_local, writes, mark);
    if (!conflict) return;
    Finding finding;
    finding.kind = Finding::Kind::kRace;
    finding.address = conflict->address;
    finding.other_wave = conflict->other.wave;
    finding.other_lane = conflict->other.lane;
    finding.other_pc = code_ + conflict->other.place;
    finding.other_writes = conflict->other_writes;
    finding.other_is_scalar = conflict->other.is_scalar;
    add(use, finding, lane, address);
  });
}

// Looks for lanes of one store that write different values to the same place.
void GroupCheck::check_lanes(const Use& use) {
  if (is_scalar(use)) return;
  unsigned lanes[kLanes], count = 0;
  bool is_ordered = true;
  uint64_t last_end = 0;
  each_lane(use, [&](unsigned lane, uint64_t address) {
    is_ordered &= count == 0 || address >= last_end;
    last_end = address + use.kind.bytes;
    lanes[count++] = lane;
  });
  if (is_ordered) return;
  const auto by_address = [&](unsigned a, unsigned b) {
    return std::pair(use.addresses[a], a) < std::pair(use.addresses[b], b);
  };
  std::sort(lanes, lanes + count, by_address);
  for (unsigned i = 1; i < count; ++i) {
    const unsigned before = lanes[i - 1], lane = lanes[i];
    const uint64_t shift = use.addresses[lane] - use.addresses[before];
    for (uint64_t byte = shift; byte < use.kind.bytes; ++byte) {
      if (stored_byte(use, before, byte) == stored_byte(use, lane, byte - shift)) continue;
      Finding finding;
      finding.kind = Finding::Kind::kRace;
      finding.address = use.addresses[before] + byte;
      finding.other_wave = use.wave.number;
      finding.other_lane = before;
      finding.other_pc = use.op.address;
      finding.other_writes = true;
      add(use, finding, lane, use.addresses[lane]);
      break;
    }
  }
}

}  // namespace softgpu::isa
