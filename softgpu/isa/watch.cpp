#include "isa/watch.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <string_view>
#include <utility>

namespace softgpu::isa {
namespace {

constexpr unsigned kBanks = 32;
constexpr uint64_t kFetchBytes = 32;

// The lanes whose flat address is in LDS.
uint64_t lanes_in_lds(const uint64_t (&addresses)[kLanes], uint64_t exec) {
  uint64_t found = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (addresses[lane] >> 32 == kLdsAperture) found |= uint64_t{1} << lane;
  }
  return found & exec;
}

unsigned dwords_of(const OpcodeClass& kind) { return (kind.bytes + 3U) / 4; }

// A lane's address in a buffer, without bounds checks.
uint64_t buffer_address(const Wave& wave, const Op& op, unsigned lane) {
  const uint32_t* s = &wave.s[op.src[0]];
  const bool adds_lane = s[3] >> 23 & 1, is_swizzled = s[1] >> 31;
  const uint64_t stride = (s[1] >> 16 & 0x3fff) | (adds_lane ? (s[3] >> 15 & 15) << 14 : 0),
                 side_by_side = uint64_t{8} << (s[3] >> 21 & 3);
  const unsigned row = op.mods.vaddr;
  uint64_t index = adds_lane ? lane : 0, offset = static_cast<uint32_t>(op.mods.offset);
  if (op.mods.idxen) index += wave.v[row][lane];
  if (op.mods.offen) offset += wave.v[(row + (op.mods.idxen ? 1U : 0U)) & 511][lane];
  uint64_t base = s[0] | uint64_t{s[1] & 0xffff} << 32;
  if (op.mods.scalar_offset)
    base += *op.mods.scalar_offset == sonde::gpu::kLiteral ? op.literal
                                                           : wave.s[*op.mods.scalar_offset];
  if (!is_swizzled) return base + index * stride + offset;
  return base + (index / side_by_side * stride + (offset & ~uint64_t{3})) * side_by_side +
         index % side_by_side * 4 + (offset & 3);
}

}  // namespace

LdsCycles lds_cycles(const uint64_t (&addresses)[kLanes], uint64_t exec, unsigned dwords) {
  const unsigned at_once = dwords <= 1 ? 32 : dwords == 2 ? 16 : 8;
  LdsCycles cycles;
  for (unsigned first = 0; first < kLanes; first += at_once) {
    if ((exec >> first & ((uint64_t{1} << at_once) - 1)) == 0) continue;
    uint64_t wanted[kBanks][kBanks];  // the distinct dwords of each bank: usually one
    uint32_t of_bank[kBanks] = {}, most = 0;
    for (unsigned lane = first; lane < first + at_once; ++lane) {
      if ((exec >> lane & 1) == 0) continue;
      for (unsigned d = 0; d < std::max(1U, dwords); ++d) {
        const uint64_t dword = addresses[lane] / 4 + d;
        uint64_t* const there = wanted[dword % kBanks];
        uint32_t& count = of_bank[dword % kBanks];
        if (std::find(there, there + count, dword) != there + count) continue;
        there[count++] = dword;
        most = std::max(most, count);
      }
    }
    cycles.active += most;
    cycles.conflicts += most - 1;
  }
  return cycles;
}

void GroupWatch::begin(const Watch& watch, const Group& group) {
  watch_ = &watch;
  group_ = group.number;
  code_ = group.code;
  entry_ = group.entry;
  kernel_ = group.kernel;
  if (watch.check != nullptr)
    check_.begin(*watch.check, group.own, {group.code, group.waves, group.lds_bytes});
  if (watch.waves != nullptr) answered_ = watch.waves->demands();
  tally_ = {};
  fetched_.clear();
  tally_[counter::SPI_CSN_NUM_THREADGROUPS] = 1;
  text_.clear();
  if (watch.trace == nullptr) return;
  text_ = "g " + std::to_string(watch.dispatch) + ' ' + std::to_string(group.number) + ' ' +
          (watch.kernel.empty() ? "?" : watch.kernel) + '\n';
}

void GroupWatch::starts(const Wave& wave) {
  const auto items = static_cast<unsigned>(std::popcount(wave.exec()));
  ++tally_[counter::SQ_WAVES];
  ++tally_[counter::SPI_CSN_WAVE];
  tally_[counter::SQ_WAVES_EQ_64] += items == 64;
  tally_[counter::SQ_WAVES_LT_64] += items < 64;
  tally_[counter::SQ_WAVES_LT_48] += items < 48;
  tally_[counter::SQ_WAVES_LT_32] += items < 32;
  tally_[counter::SQ_WAVES_LT_16] += items < 16;
  tally_[counter::SQ_ITEMS] += items;
  if (fetched_.size() <= wave.number) fetched_.resize(wave.number + 1);
  fetched_[wave.number] = ~uint64_t{0};
  if (watch_->trace != nullptr)
    text_ += "w " + std::to_string(wave.number) + ' ' + std::to_string(items) + '\n';
}

void GroupWatch::sees(Wave& wave, const Op& op) {
  last_ = op.address;
  if (op.opcode == nullptr) return;  // the wave is about to stop
  const uint64_t every = watch_->waves != nullptr ? watch_->waves->every() : 0;
  // Each wave starts counting at a different offset, so that short waves are sampled, and loops at
  // every instruction.
  constexpr uint64_t kOfGroup = 7919, kOfWave = 104729;
  if (every != 0 && (wave.executed + kOfGroup * group_ + kOfWave * wave.number) % every == 0)
    watch_->waves->sample(place_at(op.address), wave, op);
  const OpcodeClass& kind = class_of(*op.opcode);
  if (watch_->counters != nullptr) count(wave, op, kind);
  if (watch_->trace != nullptr) describe(wave, op, kind);
  if (watch_->check != nullptr && kind.space != Space::kNone) check(wave, op, kind);
}

void GroupWatch::count(const Wave& wave, const Op& op, const OpcodeClass& kind) {
  ++tally_[counter::SQ_INSTS];
  for (unsigned i = 0; i < kind.count; ++i) ++tally_[kind.counters[i]];
  uint64_t& fetched = fetched_[wave.number];
  if (fetched != op.address / kFetchBytes) {
    fetched = op.address / kFetchBytes;
    ++tally_[counter::SQ_IFETCH];
    ++tally_[counter::SQC_ICACHE_REQ];
  }
  if (kind.is_valu) {
    const auto lanes = static_cast<uint64_t>(std::popcount(wave.exec()));
    tally_[counter::SQ_ACTIVE_INST_VALU] += kind.passes;
    tally_[counter::SQ_THREAD_CYCLES_VALU] += kind.passes * lanes;
    if (kind.mops != counter::kCount) tally_[kind.mops] += kind.mops_each;
    return;
  }
  switch (op.opcode->format) {
    case sonde::gpu::Format::kSmem:
      tally_[counter::SQ_INSTS_SMEM_NORM] += op.opcode->name.starts_with("s_dcache_") ? 4 : 2;
      return;
    case sonde::gpu::Format::kDs:
      ++tally_[op.mods.gds ? counter::SQ_INSTS_GDS : counter::SQ_INSTS_LDS];
      tally_[counter::SQ_INSTS_EXP_GDS] += op.mods.gds;
      if (!op.mods.gds) count_local(wave, op, kind);
      return;
    default:
      break;
  }
  if (kind.space < Space::kFlat) {
    if (watch_->caches != nullptr && op.opcode->name.starts_with("buffer_wbinvl1"))
      watch_->caches->invalidate(group_);
    return;
  }
  const bool reads =
      kind.access == Access::kLoad || (kind.access == Access::kAtomic && op.mods.glc);
  ++tally_[reads ? counter::SQ_INSTS_VMEM_RD : counter::SQ_INSTS_VMEM_WR];
  ++tally_[counter::TD_LOAD_WAVEFRONT];
  tally_[counter::TD_ATOMIC_WAVEFRONT] += kind.access == Access::kAtomic;
  tally_[counter::TD_STORE_WAVEFRONT] += kind.access == Access::kStore;
  if (kind.space != Space::kFlat && watch_->caches == nullptr) return;
  find_addresses(wave, op, kind, 0);
  if (kind.space == Space::kFlat) count_flat(wave, kind);
  if (watch_->caches != nullptr) model(wave, op, kind);
}

// In private memory, consecutive dwords of a lane are 256 bytes apart: the lanes are interleaved.
void GroupWatch::model(const Wave& wave, const Op& op, const OpcodeClass& kind) {
  std::vector<CacheModel::Bytes> bytes;
  const auto own = reinterpret_cast<uint64_t>(wave.private_memory);
  const auto put_private = [&](uint64_t offset, unsigned lane) {
    for (unsigned d = 0; d < dwords_of(kind); ++d)
      bytes.push_back({own + (offset / 4 + d) * 4 * kLanes + lane * 4, 4});
  };
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((wave.exec() >> lane & 1) == 0) continue;
    const uint64_t address = addresses_[lane];
    if (kind.space == Space::kScratch) {
      put_private(address, lane);
    } else if (kind.space == Space::kFlat && address >> 32 == kPrivateAperture) {
      put_private(static_cast<uint32_t>(address), lane);
    } else if (kind.space == Space::kFlat && address >> 32 == kLdsAperture) {
      continue;
    } else {
      bytes.push_back({address, kind.bytes});
    }
  }
  watch_->caches->access(group_, kind.access, op.mods.glc, bytes);
}

void GroupWatch::count_local(const Wave& wave, const Op& op, const OpcodeClass& kind) {
  if (kind.space != Space::kLds) return;
  for (unsigned place = 0; place < kind.places; ++place) {
    find_addresses(wave, op, kind, place);
    const LdsCycles cycles = lds_cycles(addresses_, wave.exec(), dwords_of(kind));
    tally_[counter::SQ_LDS_IDX_ACTIVE] += cycles.active;
    tally_[counter::SQ_LDS_BANK_CONFLICT] += cycles.conflicts;
  }
}

void GroupWatch::count_flat(const Wave& wave, const OpcodeClass& kind) {
  const uint64_t exec = wave.exec(), local = lanes_in_lds(addresses_, exec);
  if (local == 0) return;
  tally_[counter::SQ_INSTS_FLAT_LDS_ONLY] += local == exec;
  uint64_t places[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane)
    places[lane] = static_cast<uint32_t>(addresses_[lane]);
  const LdsCycles cycles = lds_cycles(places, local, dwords_of(kind));
  tally_[counter::SQ_LDS_IDX_ACTIVE] += cycles.active;
  tally_[counter::SQ_LDS_BANK_CONFLICT] += cycles.conflicts;
}

// The addresses as the instruction will compute them; for scratch, the offsets in private memory.
void GroupWatch::find_addresses(const Wave& wave, const Op& op, const OpcodeClass& kind,
                                unsigned place) {
  const unsigned row = op.src[0] >= kFirstVgpr ? op.src[0] - unsigned{kFirstVgpr} : 0;
  const auto offset = static_cast<uint64_t>(int64_t{op.mods.offset});
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const uint32_t low = wave.v[row][lane], high = wave.v[(row + 1) & 511][lane];
    uint64_t& to = addresses_[lane];
    switch (kind.space) {
      case Space::kLds: {
        const uint32_t by =
            kind.places == 1
                ? static_cast<uint32_t>(op.mods.offset)
                : (static_cast<uint32_t>(op.mods.offset) >> 8 * place & 255) * kind.distance;
        to = low + by;
        if (op.src[0] < kFirstVgpr)  // ds_append: one address for all lanes
          to = (wave.s[sonde::gpu::kM0] >> 16) + by;
        break;
      }
      case Space::kGlobal:
        to = offset + (op.mods.scalar_base ? wave.s64(*op.mods.scalar_base) + low
                                           : low | uint64_t{high} << 32);
        break;
      case Space::kFlat:
        to = offset + (low | uint64_t{high} << 32);
        break;
      case Space::kScratch:
        to = static_cast<uint32_t>((op.mods.scalar_base ? wave.s[*op.mods.scalar_base] : low) +
                                   static_cast<uint32_t>(offset));
        break;
      case Space::kBuffer:
        to = buffer_address(wave, op, lane);
        break;
      default:
        to = 0;
    }
  }
}

// "i WAVE PC EXEC NAME [glc|gds] [ADDRESS,...[;ADDRESS,...]]", the addresses of the lanes in EXEC.
void GroupWatch::describe(const Wave& wave, const Op& op, const OpcodeClass& kind) {
  char head[96];
  std::snprintf(head, sizeof(head), "i %u %llx %llx ", wave.number,
                static_cast<unsigned long long>(op.address),
                static_cast<unsigned long long>(wave.exec()));
  text_ += head;
  text_ += op.opcode->name;
  if (op.mods.glc) text_ += " glc";
  if (op.mods.gds) text_ += " gds";
  if (kind.space == Space::kLds || kind.space == Space::kFlat) {
    for (unsigned place = 0; place < kind.places; ++place) {
      find_addresses(wave, op, kind, place);
      char separator = place == 0 ? ' ' : ';';
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if ((wave.exec() >> lane & 1) == 0) continue;
        std::snprintf(head, sizeof(head), "%c%llx", separator,
                      static_cast<unsigned long long>(addresses_[lane]));
        text_ += head;
        separator = ',';
      }
    }
  }
  text_ += '\n';
}

bool GroupWatch::is_asked() {
  if (watch_->waves == nullptr) return false;
  const uint64_t demands = watch_->waves->demands();
  return std::exchange(answered_, demands) != demands;
}

void GroupWatch::show(const Wave& wave, const char* why,
                      const sonde::gpu::KernelDescriptor& kernel) {
  if (watch_->waves == nullptr) return;
  const bool has_failed = std::string_view(why) != "demand";
  const bool is_found = wave.stop == Stop::kBadAccess;
  watch_->waves->state(place_at(has_failed ? last_ : wave.pc), wave,
                       is_found ? name_of(bad_access_.kind) : why, kernel,
                       is_found ? &bad_access_ : nullptr);
}

void GroupWatch::end() {
  if (watch_->counters != nullptr) watch_->counters->add(tally_, group_);
  if (watch_->trace != nullptr) watch_->trace->write(text_);
  watch_ = nullptr;
}

}  // namespace softgpu::isa
