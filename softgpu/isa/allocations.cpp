#include "isa/allocations.h"

#include <cstring>
#include <mutex>

namespace softgpu::isa {

void Allocations::add(uint64_t address, uint64_t bytes, bool is_filled) {
  std::unique_lock lock(mutex_);
  buffers_[address] = {address + bytes, is_filled, false};
  changed();
}

bool Allocations::free(uint64_t address) {
  std::unique_lock lock(mutex_);
  const auto found = buffers_.find(address);
  if (found == buffers_.end() || found->second.is_freed) return false;
  found->second.is_freed = true;
  changed();
  return true;
}

void Allocations::remove(uint64_t address) {
  std::unique_lock lock(mutex_);
  buffers_.erase(address);
  changed();
}

uint64_t Allocations::bytes_at(uint64_t address) const {
  std::shared_lock lock(mutex_);
  const auto found = buffers_.find(address);
  if (found == buffers_.end() || found->second.is_freed) return 0;
  return found->second.end - address;
}

Allocations::Found Allocations::find(uint64_t address) const {
  const Mapping mapping = mapping_at_(address);
  std::shared_lock lock(mutex_);
  const auto behind = buffers_.upper_bound(address);
  if (behind != buffers_.begin()) {
    const auto& [begin, buffer] = *std::prev(behind);
    if (address < buffer.end)
      return {buffer.is_freed ? Kind::kFreed : Kind::kBuffer, begin, buffer.end, buffer.is_filled};
  }
  if (mapping.begin == mapping.end) return {};
  // Between the adjacent buffers; a mapping without any belongs to the runtime.
  Found found{Kind::kMapping, mapping.begin, mapping.end, false};
  if (behind != buffers_.begin() && std::prev(behind)->second.end > mapping.begin) {
    found.kind = Kind::kBeside;
    found.begin = std::prev(behind)->second.end;
  }
  if (behind != buffers_.end() && behind->first < mapping.end) {
    found.kind = Kind::kBeside;
    found.end = behind->first;
  }
  return found;
}

void Allocations::fill(uint64_t address, uint64_t bytes) {
  uint64_t at = address;
  const uint64_t end = address + bytes;
  for (; at + 4 <= end; at += 4) {
    const uint32_t word = fill_at(at);
    std::memcpy(reinterpret_cast<void*>(at), &word, 4);
  }
  const uint32_t word = fill_at(at);
  std::memcpy(reinterpret_cast<void*>(at), &word, end - at);
}

}  // namespace softgpu::isa
