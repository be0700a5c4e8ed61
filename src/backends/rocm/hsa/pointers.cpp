#include "backends/rocm/hsa/pointers.h"

#include "backends/rocm/hsa/runtime.h"

namespace sonde::hsa {

PointerInfo pointer_info(uint64_t address) {
  constexpr uint32_t kUnknown = 0;
  if (address == 0 || next().pointer_info == nullptr) return {-1, false};
  PointerDescription description = {};
  description.size = sizeof description;
  if (next().pointer_info(reinterpret_cast<const void*>(address), &description, nullptr, nullptr,
                          nullptr) != kSuccess ||
      description.type == kUnknown) {
    return {-1, false};
  }
  const Device* device = device_of(description.owner);
  if (device != nullptr && device->is_gpu) return {device->gpu_id, false};
  return {-1, true};
}

}  // namespace sonde::hsa
