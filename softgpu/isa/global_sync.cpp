#include "isa/global_sync.h"

namespace softgpu::isa {

void GlobalSync::set(unsigned resource, uint32_t value) {
  std::lock_guard lock(mutex_);
  resources_[resource % kResources].counter = value;
}

GlobalWait GlobalSync::arrive(unsigned resource, uint32_t value) {
  std::lock_guard lock(mutex_);
  Resource& own = resources_[resource % kResources];
  if (own.counter == 0) {
    ++own.phase;
    own.counter = value;
    return {};
  }
  --own.counter;
  return {GlobalWait::kBarrier, static_cast<uint8_t>(resource % kResources), own.phase};
}

void GlobalSync::add(unsigned resource, uint32_t value) {
  std::lock_guard lock(mutex_);
  resources_[resource % kResources].counter += value;
}

GlobalWait GlobalSync::take(unsigned resource) {
  std::lock_guard lock(mutex_);
  Resource& own = resources_[resource % kResources];
  if (own.counter != 0) {
    --own.counter;
    return {};
  }
  return {GlobalWait::kSemaphore, static_cast<uint8_t>(resource % kResources), own.phase};
}

void GlobalSync::release_all(unsigned resource) {
  std::lock_guard lock(mutex_);
  ++resources_[resource % kResources].phase;
}

bool GlobalSync::is_over(const GlobalWait& wait) {
  std::lock_guard lock(mutex_);
  Resource& own = resources_[wait.resource];
  if (wait.kind == GlobalWait::kNothing || own.phase != wait.phase) return true;
  if (wait.kind != GlobalWait::kSemaphore || own.counter == 0) return false;
  --own.counter;
  return true;
}

}  // namespace softgpu::isa
