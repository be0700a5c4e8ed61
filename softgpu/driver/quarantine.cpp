#include "driver/quarantine.h"

namespace softgpu {

void Quarantine::add(uint64_t address, uint64_t bytes, bool is_vram) {
  const bool fills = is_vram && bytes <= kMostFilled;
  if (fills) isa::Allocations::fill(address, bytes);
  allocations_.add(address, bytes, fills);
}

bool Quarantine::keep(uint64_t address, std::vector<uint64_t>& due) {
  const uint64_t bytes = allocations_.bytes_at(address);
  if (bytes == 0 || !allocations_.free(address)) return false;
  std::lock_guard lock(mutex_);
  kept_.push_back({address, bytes});
  bytes_ += bytes;
  while (bytes_ > kMostBytes || kept_.size() > kMost) {
    due.push_back(kept_.front().address);
    allocations_.remove(kept_.front().address);
    bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
  return true;
}

std::vector<uint64_t> Quarantine::take_all() {
  std::lock_guard lock(mutex_);
  std::vector<uint64_t> taken;
  for (const Kept& each : kept_) {
    taken.push_back(each.address);
    allocations_.remove(each.address);
  }
  kept_.clear();
  bytes_ = 0;
  return taken;
}

}  // namespace softgpu
