#include "device/pm4.h"

namespace softgpu {
namespace {

// A type 3 header: opcode in bits 8-15, dwords that follow less one in bits 16-29.
constexpr uint32_t kIndirectBuffer = 0x3f, kNop = 0x10, kAcquireMem = 0x58, kReleaseMem = 0x49,
                   kEventWrite = 0x46;
uint32_t opcode(uint32_t header) { return header >> 30 == 3 ? header >> 8 & 0xff : 0; }
uint32_t dwords(uint32_t header) { return (header >> 16 & 0x3fff) + 2; }

}  // namespace

bool only_flushes_caches(const AqlPm4Ib& packet, const GpuMemory& memory) {
  if (opcode(packet.jump[0]) != kIndirectBuffer) return false;
  uint64_t address = (packet.jump[1] & ~3u) | uint64_t{packet.jump[2]} << 32;
  uint32_t size = packet.jump[3] & 0xfffff;
  if (memory.check(address, size * 4ull)) return false;
  const auto* commands = reinterpret_cast<const uint32_t*>(address);
  for (uint32_t i = 0; i < size; i += dwords(commands[i])) {
    switch (opcode(commands[i])) {
      case kNop:
      case kAcquireMem:
      case kReleaseMem:
      case kEventWrite:
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace softgpu
