#include "isa/wave_log.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/strings.h"
#include "base/time.h"
#include "isa/check.h"

namespace softgpu::isa {
namespace {

constexpr int kVersion = 1;
constexpr int64_t kLookEveryNs = 50'000'000;

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "\"0x%llx\"", static_cast<unsigned long long>(value));
  return text;
}

std::string begin_line(std::string_view line, const WavePlace& place, const Wave& wave) {
  return "{\"line\": " + sonde::json_quote(line) + ", \"pid\": " + std::to_string(getpid()) +
         ", \"time_ns\": " + std::to_string(sonde::monotonic_now_ns()) +
         ", \"gpu\": " + std::to_string(place.gpu) +
         ", \"dispatch\": " + std::to_string(place.dispatch) +
         ", \"kernel\": " + sonde::json_quote(place.kernel) +
         ", \"group\": " + std::to_string(place.group) + ", \"group_id\": [" +
         std::to_string(wave.group->id[0]) + ", " + std::to_string(wave.group->id[1]) + ", " +
         std::to_string(wave.group->id[2]) + "], \"wave\": " + std::to_string(wave.number) +
         ", \"pc\": " + hex(place.pc) + ", \"offset\": " + hex(place.pc - place.code) +
         ", \"exec\": " + hex(wave.exec());
}

// Eight digits per dword, without separators.
void put_dwords(std::string& to, const uint32_t* values, unsigned count) {
  char digits[12];
  to += '"';
  for (unsigned i = 0; i < count; ++i) {
    std::snprintf(digits, sizeof(digits), "%08x", values[i]);
    to += digits;
  }
  to += '"';
}

void put_rows(std::string& to, const Wave& wave, unsigned first, unsigned count) {
  for (unsigned row = 0; row < count; ++row) {
    if (row != 0) to += ", ";
    put_dwords(to, wave.v[first + row], kLanes);
  }
}

const char* name_of(Access access) {
  return access == Access::kLoad ? "load" : access == Access::kStore ? "store" : "atomic";
}

std::string finding_fields(const Finding& finding, const Wave& wave) {
  std::string text = ", \"address\": " + hex(finding.address) +
                     ", \"begin\": " + hex(finding.begin) +
                     ", \"space\": " + sonde::json_quote(finding.is_local ? "lds" : "memory") +
                     ", \"access\": " + sonde::json_quote(name_of(finding.access)) +
                     ", \"bytes\": " + std::to_string(finding.bytes) +
                     ", \"lane\": " + std::to_string(finding.lane) +
                     ", \"lanes\": " + std::to_string(finding.lanes) +
                     (finding.is_scalar ? ", \"scalar\": true" : "");
  if (finding.is_local) text += ", \"lds_bytes\": " + std::to_string(wave.group->lds_bytes);
  if (finding.kind != Finding::Kind::kRace) return text;
  return text + ", \"other_pc\": " + hex(finding.other_pc) +
         ", \"other_wave\": " + std::to_string(finding.other_wave) +
         ", \"other_lane\": " + std::to_string(finding.other_lane) +
         (finding.other_is_scalar ? ", \"other_scalar\": true" : "") +
         ", \"other_access\": " + sonde::json_quote(finding.other_writes ? "store" : "load");
}

// What identifies the dispatch afterwards: its kernel object and its arguments, at these offsets of
// the packet.
std::string dispatch_fields(std::span<const OwnMemory> own) {
  constexpr uint64_t kKernelObject = 32, kArguments = 40;
  if (own.size() < 2 || own[0].address == 0) return {};
  const auto word = [&](uint64_t at) {
    uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const void*>(own[0].address + at), sizeof(value));
    return value;
  };
  std::string text = ", \"kernel_object\": " + hex(word(kKernelObject)) +
                     ", \"kernarg\": " + hex(word(kArguments)) + ", \"arguments\": \"";
  const auto* const bytes = reinterpret_cast<const uint8_t*>(own[1].address);
  char digits[4];
  for (uint64_t i = 0; bytes != nullptr && i < std::min<uint64_t>(own[1].bytes, 1024); ++i) {
    std::snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    text += digits;
  }
  return text + '"';
}

// The HW_REG_TRAPSTS bits: MEM_VIOL 8, ILLEGAL_INST 11.
uint32_t trap_status_of(std::string_view why) {
  if (why == "memory_fault" || why == "aperture_violation" || why == "out_of_bounds" ||
      why == "use_after_free")
    return 1U << 8;
  return why == "illegal_instruction" ? 1U << 11 : 0;
}

}  // namespace

bool WaveLog::open(const std::string& path, uint64_t every) {
  path_ = path;
  every_ = every;
  return file_.open(path);
}

void WaveLog::sample(const WavePlace& place, const Wave& wave, const Op& op) {
  std::string line = begin_line("sample", place, wave);
  line += ", \"instruction\": " + sonde::json_quote(op.opcode != nullptr ? op.opcode->name : "");
  file_.write(line + "}\n");
}

void WaveLog::state(const WavePlace& place, const Wave& wave, std::string_view why,
                    const sonde::gpu::KernelDescriptor& kernel, const Finding* finding,
                    std::span<const OwnMemory> own) {
  // gfx90a has VGPRs and accumulators in one file, allocated in units of eight.
  const unsigned registers = std::min(512U, ((kernel.rsrc1 & 63) + 1) * 8);
  const unsigned vectors = std::min(registers, ((kernel.rsrc3 & 63) + 1) * 4);
  std::string line = begin_line("state", place, wave);
  line += ", \"version\": " + std::to_string(kVersion) + ", \"why\": " + sonde::json_quote(why) +
          ", \"status\": " + hex(status_of(wave)) + ", \"trapsts\": " + hex(trap_status_of(why)) +
          ", \"mode\": " + hex(wave.mode) + ", \"m0\": " + hex(wave.s[sonde::gpu::kM0]) +
          ", \"vcc\": " + hex(wave.vcc()) + ", \"scc\": " + std::to_string(wave.scc & 1) +
          ", \"trap\": " + std::to_string(wave.trap_id) +
          ", \"executed\": " + std::to_string(wave.executed);
  if (finding != nullptr) line += finding_fields(*finding, wave) + dispatch_fields(own);
  line += ", \"sgprs\": ";
  put_dwords(line, wave.s, sonde::gpu::kFlatScratch);
  line += ", \"vgprs\": [";
  put_rows(line, wave, 0, vectors);
  line += "], \"agprs\": [";
  put_rows(line, wave, 256, registers - vectors);
  line += "], \"lds\": \"";
  char digits[4];
  for (uint32_t i = 0; i < wave.group->lds_bytes; ++i) {
    std::snprintf(digits, sizeof(digits), "%02x", wave.group->lds[i]);
    line += digits;
  }
  file_.write(line + "\"}\n");
}

uint64_t WaveLog::demands() {
  const int64_t now = sonde::monotonic_now_ns();
  int64_t looked = looked_ns_.load(std::memory_order_relaxed);
  if (now - looked > kLookEveryNs && looked_ns_.compare_exchange_strong(looked, now)) {
    if (unlink((path_ + ".ask").c_str()) == 0) ++demands_;
  }
  return demands_.load(std::memory_order_relaxed);
}

}  // namespace softgpu::isa
