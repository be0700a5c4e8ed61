#include "driver/save_area_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/pinned.h"
#include "driver/kfd_abi.h"

namespace softgpu {
namespace {

// The process' own memory, part of which may be unmapped: then accesses fail without a fault.
class OwnMemory : sonde::Pinned {
 public:
  OwnMemory() : fd_(::open("/proc/self/mem", O_RDWR | O_CLOEXEC)) {}
  ~OwnMemory() { ::close(fd_); }

  bool write(uint64_t to, const void* from, size_t bytes) const {
    return bytes == 0 ||
           pwrite(fd_, from, bytes, static_cast<off_t>(to)) == static_cast<ssize_t>(bytes);
  }
  bool read(uint64_t from, void* to, size_t bytes) const {
    return pread(fd_, to, bytes, static_cast<off_t>(from)) == static_cast<ssize_t>(bytes);
  }

 private:
  const int fd_;
};

}  // namespace

// The control stack ends where the waves begin.
bool write_save_area(const DebuggedQueue& queue, const isa::SavedWaves& saved) {
  const size_t stack_bytes = saved.control_stack.size() * sizeof(uint32_t);
  if (stack_bytes + sizeof(kfd::SaveAreaHeader) > queue.control_stack_bytes) return false;
  const uint64_t end = uint64_t{queue.control_stack_bytes} + saved.waves.size();
  if (end > queue.save_area_bytes) return false;
  const auto stack_offset = static_cast<uint32_t>(queue.control_stack_bytes - stack_bytes);
  const kfd::SaveAreaHeader header{stack_offset, static_cast<uint32_t>(stack_bytes),
                                   static_cast<uint32_t>(end),
                                   static_cast<uint32_t>(saved.waves.size())};
  const OwnMemory memory;
  return memory.write(queue.save_area + stack_offset, saved.control_stack.data(), stack_bytes) &&
         memory.write(queue.save_area + queue.control_stack_bytes, saved.waves.data(),
                      saved.waves.size()) &&
         memory.write(queue.save_area, &header, sizeof header);
}

std::vector<uint8_t> read_save_area(const DebuggedQueue& queue) {
  const OwnMemory memory;
  kfd::SaveAreaHeader header{};
  if (queue.save_area == 0 || !memory.read(queue.save_area, &header, sizeof header)) return {};
  if (header.wave_state_bytes > queue.save_area_bytes) return {};
  std::vector<uint8_t> waves(header.wave_state_bytes);
  if (!memory.read(queue.save_area + queue.control_stack_bytes, waves.data(), waves.size()))
    return {};
  return waves;
}

uint32_t add_exceptions(const DebuggedQueue& queue, uint64_t exceptions) {
  const OwnMemory memory;
  kfd::SaveAreaErrors errors{};
  uint64_t value = 0;
  if (queue.save_area == 0 ||
      !memory.read(queue.save_area + kfd::SaveAreaErrors::kOffset, &errors, sizeof errors) ||
      errors.payload == 0 || !memory.read(errors.payload, &value, sizeof value))
    return 0;
  value |= exceptions;
  return memory.write(errors.payload, &value, sizeof value) ? errors.event : 0;
}

}  // namespace softgpu
