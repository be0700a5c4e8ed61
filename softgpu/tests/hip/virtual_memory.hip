// virtual_memory: hipMemAddressReserve, hipMemCreate, hipMemMap, hipMemSetAccess: an address range
// that grows piece by piece, memory that moves, and access by a second GPU. Says so if the runtime
// does not support it.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "checks.h"

namespace {

bool check(hipError_t error, const char* what) {
  if (error == hipSuccess) return true;
  std::printf("FAILED: %s: %s\n", what, hipGetErrorString(error));
  ++failures;
  return false;
}

hipMemAllocationProp of_gpu(int gpu) {
  hipMemAllocationProp properties{};
  properties.type = hipMemAllocationTypePinned;
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = gpu;
  return properties;
}

bool give_access(void* at, size_t bytes, int gpu) {
  hipMemAccessDesc access{};
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = gpu;
  access.flags = hipMemAccessFlagsProtReadWrite;
  return check(hipMemSetAccess(at, bytes, &access, 1), "set access");
}

std::vector<char> content(const void* at, size_t bytes) {
  std::vector<char> copy(bytes);
  check(hipMemcpy(copy.data(), at, bytes, hipMemcpyDeviceToHost), "read");
  return copy;
}

}  // namespace

#if HIP_VERSION < 50300000
int main() {
  std::printf("not supported by this runtime\n");
  return 77;
}
#else
int main() {
  int gpus = 0;
  check(hipGetDeviceCount(&gpus), "count");
  const hipMemAllocationProp properties = of_gpu(0);
  size_t grain = 0;
  check(hipMemGetAllocationGranularity(&grain, &properties, hipMemAllocationGranularityMinimum),
        "granularity");
  const size_t piece = (size_t{1} << 20) > grain ? size_t{1} << 20 : grain;
  void* base = nullptr;
  if (!check(hipMemAddressReserve(&base, 4 * piece, 0, nullptr, 0), "reserve")) return 1;
  if (base == nullptr) {  // HIP 5.7 says "success"
    std::printf("not supported by this runtime\n");
    return 77;
  }
  char* at = static_cast<char*>(base);
  hipMemGenericAllocationHandle_t handles[2];
  for (int i = 0; i < 2; ++i) {
    if (!check(hipMemCreate(&handles[i], piece, &properties, 0), "create")) return 1;
    if (!check(hipMemMap(at + i * piece, piece, 0, handles[i], 0), "map")) return 1;
    if (!give_access(at + i * piece, piece, 0)) return 1;
  }
  // One copy across both pieces.
  std::vector<char> bytes(2 * piece);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 13);
  check(hipMemcpy(at, bytes.data(), bytes.size(), hipMemcpyHostToDevice), "write");
  expect(content(at, bytes.size()) == bytes, "what was written over two pieces");
  check(hipMemset(at + piece - 64, 0x11, 128), "memset over the border");
  std::memset(bytes.data() + piece - 64, 0x11, 128);
  check(hipDeviceSynchronize(), "sync");
  expect(content(at, bytes.size()) == bytes, "what was set over the border");
  // The first piece moves; its content is kept.
  check(hipMemUnmap(at, piece), "unmap");
  if (check(hipMemMap(at + 2 * piece, piece, 0, handles[0], 0), "map again") &&
      give_access(at + 2 * piece, piece, 0)) {
    const std::vector<char> moved = content(at + 2 * piece, piece);
    expect(std::memcmp(moved.data(), bytes.data(), piece) == 0, "content that moved");
  }
  if (gpus > 1 && give_access(at + piece, piece, 1)) {
    check(hipSetDevice(1), "second GPU");
    check(hipMemset(at + piece, 0x22, piece), "memset by the second GPU");
    check(hipDeviceSynchronize(), "sync");
    check(hipSetDevice(0), "first GPU");
    expect(content(at + piece, piece) == std::vector<char>(piece, 0x22), "what the second GPU set");
  }
  check(hipMemUnmap(at + 2 * piece, piece), "unmap");
  check(hipMemUnmap(at + piece, piece), "unmap");
  for (auto& handle : handles) check(hipMemRelease(handle), "release");
  check(hipMemAddressFree(base, 4 * piece), "free addresses");
  std::printf("%s\n", failures == 0 ? "virtual memory works" : "FAILED");
  return failures == 0 ? 0 : 1;
}
#endif
