// The three functions of libhsakmt that tell ROCr where memory is for a GPU. For memory that the
// program registered they answer with a second address, which on a GPU leads to the same pages.
// Here no such second mapping can be made, so the answer becomes the program's own address, as it
// also is where the GPU shares the process's address space.
#include <dlfcn.h>
#include <hsakmt.h>

#include "driver/driver.h"

namespace softgpu {
namespace {

// libhsakmt may have been loaded for one library alone, where RTLD_NEXT does not look.
template <typename Function>
Function* thunk_function(const char* name) {
  void* library = dlopen("libhsakmt.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

#define THUNK(name)                                                                   \
  ([] {                                                                               \
    static auto* const function = ::softgpu::thunk_function<decltype(::name)>(#name); \
    return function;                                                                  \
  }())

void use_own_address(HSAuint64* address) {
  const Driver* driver = Driver::get();
  if (driver == nullptr || address == nullptr) return;
  const uint64_t own = driver->memory().user_address(*address);
  if (own != 0) *address = own;
}

}  // namespace
}  // namespace softgpu

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT HSAKMT_STATUS hsaKmtMapMemoryToGPU(void* address, HSAuint64 bytes, HSAuint64* gpu_address) {
  auto* real = THUNK(hsaKmtMapMemoryToGPU);
  if (real == nullptr) return HSAKMT_STATUS_ERROR;
  const HSAKMT_STATUS status = real(address, bytes, gpu_address);
  if (status == HSAKMT_STATUS_SUCCESS) softgpu::use_own_address(gpu_address);
  return status;
}

EXPORT HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void* address, HSAuint64 bytes,
                                               HSAuint64* gpu_address, HsaMemMapFlags flags,
                                               HSAuint64 nodes, HSAuint32* node_list) {
  auto* real = THUNK(hsaKmtMapMemoryToGPUNodes);
  if (real == nullptr) return HSAKMT_STATUS_ERROR;
  const HSAKMT_STATUS status = real(address, bytes, gpu_address, flags, nodes, node_list);
  if (status == HSAKMT_STATUS_SUCCESS) softgpu::use_own_address(gpu_address);
  return status;
}

EXPORT HSAKMT_STATUS hsaKmtQueryPointerInfo(const void* pointer, HsaPointerInfo* info) {
  auto* real = THUNK(hsaKmtQueryPointerInfo);
  if (real == nullptr) return HSAKMT_STATUS_ERROR;
  const HSAKMT_STATUS status = real(pointer, info);
  if (status == HSAKMT_STATUS_SUCCESS && info->Type == HSA_POINTER_REGISTERED_USER) {
    softgpu::use_own_address(&info->GPUAddress);
  }
  return status;
}
