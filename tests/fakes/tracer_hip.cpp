// A stand-in for HIP of ROCm 5.3 to 7 that tells one tracer of its calls and of what the calls
// launched, as those do (hipRegisterTracerCallback). Built as tracer/libamdhip64.so.6; where the
// arguments lie is the real header's doing. FAKE_HIP_VERSION ("5.4", "6.2") is the version it says
// it is, and so how large the data of a call are. The data are not initialised: they are full of
// rubbish.
#define __HIP_PLATFORM_AMD__ 1
#include <hip/hip_runtime_api.h>

#include <hip/amd_detail/hip_prof_str.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../programs/cpu_clock.h"

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr uint32_t kDomainOps = 2, kDomainApi = 3, kDispatch = 0, kCopy = 1;
constexpr size_t kMostBytes = 4096;

int (*tracer)(uint32_t domain, uint32_t operation, void* data);
hipError_t last_error;

using Arguments = decltype(hip_api_data_t::args);

struct Tail {
  uint64_t enter_timestamp, phase_data;
  void (*enter)(uint32_t id, void* data);
  void (*leave)(uint32_t id, void* data);
};

struct Op {
  uint32_t domain, kind, op, padding;
  uint64_t correlation, begin_ns, end_ns;
  int device, padding2;
  uint64_t queue;
  const void* name_or_bytes;
};

int version() {
  int major = 6, minor = 2;
  if (const char* text = getenv("FAKE_HIP_VERSION")) sscanf(text, "%d.%d", &major, &minor);
  return major * 10'000'000 + minor * 100'000;
}

// sizeof(hip_api_data_t) of that version.
size_t data_bytes() {
  if (version() < 60'000'000) return 840;
  return version() < 60'300'000 ? 1520 : 2000;
}

// A call, reported to the tracer at its start and end. `fill` writes its arguments.
struct Told {
  template <typename Fill>
  Told(uint32_t api, Fill fill) : id(api) {
    memset(data, 0xA5, sizeof data);
    memset(data + 16, 0, sizeof(Arguments));
    fill(*reinterpret_cast<Arguments*>(data + 16));
    if (tracer == nullptr || tracer(kDomainApi, id, data) != 0) return;
    memcpy(&tail, data + data_bytes(), sizeof tail);
    set_phase(0);
    if (tail.enter != nullptr) tail.enter(id, data);
  }
  ~Told() {
    set_phase(1);
    if (tail.leave != nullptr) tail.leave(id, data);
  }
  void set_phase(uint32_t phase) { memcpy(data + 8, &phase, sizeof phase); }
  uint64_t correlation() const {
    uint64_t value;
    memcpy(&value, data, sizeof value);
    return tail.leave != nullptr ? value : 0;
  }
  uint32_t id;
  alignas(16) char data[kMostBytes];
  Tail tail = {};
};

void finish(uint32_t op, uint32_t kind, uint64_t correlation, const void* name_or_bytes) {
  if (tracer == nullptr || tracer(kDomainOps, op, nullptr) != 0) return;
  const auto end_ns = static_cast<uint64_t>(clock_ns(CLOCK_BOOTTIME));
  Op record = {kDomainOps, kind,      op, 0,     correlation,  end_ns - 1000,
               end_ns,     0 /*GPU*/, 0,  0x900, name_or_bytes};
  tracer(kDomainOps, op, &record);
}

}  // namespace

FAKE void hipRegisterTracerCallback(int (*callback)(uint32_t, uint32_t, void*)) {
  tracer = callback;
}
FAKE hipError_t hipRuntimeGetVersion(int* result) {
  *result = version();
  return hipSuccess;
}
FAKE hipError_t hipPeekAtLastError() { return last_error; }
FAKE const char* hipApiName(uint32_t id) { return hip_api_name(id); }

FAKE hipError_t hipMalloc(void** ptr, size_t size) {
  const Told told(HIP_API_ID_hipMalloc,
                  [&](Arguments& args) { args.hipMalloc = {.ptr = ptr, .size = size}; });
  *ptr = reinterpret_cast<void*>(0x4000);
  return last_error = size > 1'000'000 ? hipErrorOutOfMemory : hipSuccess;
}

FAKE hipError_t hipMemcpyAsync(void* dst, const void* src, size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream) {
  const Told told(HIP_API_ID_hipMemcpyAsync, [&](Arguments& args) {
    args.hipMemcpyAsync = {
        .dst = dst, .src = src, .sizeBytes = bytes, .kind = kind, .stream = stream};
  });
  finish(kCopy, 0x11F4, told.correlation(), reinterpret_cast<const void*>(bytes));
  return last_error = hipSuccess;
}

FAKE hipError_t hipLaunchKernel(const void* function, dim3 grid, dim3 block, void** values,
                                size_t shared, hipStream_t stream) {
  const Told told(HIP_API_ID_hipLaunchKernel, [&](Arguments& args) {
    args.hipLaunchKernel = {.function_address = function,
                            .numBlocks = grid,
                            .dimBlocks = block,
                            .args = values,
                            .sharedMemBytes = shared,
                            .stream = stream};
  });
  finish(kDispatch, 0x11F0, told.correlation(), "_Z6kernelPi");
  return last_error = hipSuccess;
}
