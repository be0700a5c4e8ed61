// If memory is checked, this library is also a tool of the HSA runtime: HSA calls show the exact
// sizes that the program allocates and frees, while the driver sees only pages.
#define AMD_INTERNAL_BUILD 1
#include <hsa/hsa_api_trace.h>

#include "driver/driver.h"

namespace softgpu {
namespace {

// The previous functions of the runtime's tables.
struct Next {
  decltype(hsa_amd_memory_pool_allocate)* pool_allocate = nullptr;
  decltype(hsa_amd_memory_pool_free)* pool_free = nullptr;
  decltype(hsa_memory_allocate)* allocate = nullptr;
  decltype(hsa_memory_free)* free = nullptr;
};
Next& next() {
  static constinit Next instance;
  return instance;
}

Quarantine* quarantine() {
  Driver* const driver = Driver::get();
  return driver == nullptr ? nullptr : driver->quarantine();
}

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void free_all(const std::vector<uint64_t>& due) {
  for (const uint64_t address : due) next().pool_free(reinterpret_cast<void*>(address));
}

// Retries `allocate` if quarantined memory may have been in the way.
template <class Allocate>
hsa_status_t allocate_with(size_t bytes, void** pointer, Allocate allocate) {
  hsa_status_t status = allocate();
  Quarantine* const kept = quarantine();
  if (kept == nullptr) return status;
  if (status == HSA_STATUS_ERROR_OUT_OF_RESOURCES) {
    const auto due = kept->take_all();
    free_all(due);
    if (!due.empty()) status = allocate();
  }
  if (status == HSA_STATUS_SUCCESS && *pointer != nullptr) {
    const uint64_t address = number(*pointer);
    kept->add(address, bytes, Driver::get()->memory().around(address).is_vram);
  }
  return status;
}

hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t bytes, uint32_t flags,
                           void** pointer) {
  return allocate_with(bytes, pointer,
                       [&] { return next().pool_allocate(pool, bytes, flags, pointer); });
}
hsa_status_t allocate(hsa_region_t region, size_t bytes, void** pointer) {
  return allocate_with(bytes, pointer, [&] { return next().allocate(region, bytes, pointer); });
}

// Whether the memory is quarantined, to be freed later.
bool is_kept(void* pointer) {
  Quarantine* const kept = quarantine();
  std::vector<uint64_t> due;
  if (kept == nullptr || !kept->keep(number(pointer), due)) return false;
  free_all(due);
  return true;
}

hsa_status_t pool_free(void* pointer) {
  return is_kept(pointer) ? HSA_STATUS_SUCCESS : next().pool_free(pointer);
}
hsa_status_t free(void* pointer) {
  return is_kept(pointer) ? HSA_STATUS_SUCCESS : next().free(pointer);
}

}  // namespace
}  // namespace softgpu

extern "C" {

// Called by libsoftgpu-hsa.so (driver/hsa_tool/).
__attribute__((visibility("default"))) bool softgpu_on_load(HsaApiTable* table) {
  using namespace softgpu;
  if (quarantine() == nullptr) return true;
  CoreApiTable& core = *table->core_;
  AmdExtTable& extensions = *table->amd_ext_;
  next() = {extensions.hsa_amd_memory_pool_allocate_fn, extensions.hsa_amd_memory_pool_free_fn,
            core.hsa_memory_allocate_fn, core.hsa_memory_free_fn};
  extensions.hsa_amd_memory_pool_allocate_fn = pool_allocate;
  extensions.hsa_amd_memory_pool_free_fn = pool_free;
  core.hsa_memory_allocate_fn = allocate;
  core.hsa_memory_free_fn = softgpu::free;
  return true;
}
}
