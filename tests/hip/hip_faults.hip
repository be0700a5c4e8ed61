// Kernels that fail, one for each way in which they can; the first argument says which. Traced by
// tests/e2e/debug.toml.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define CHECK(call)                                                                     \
  do {                                                                                  \
    const hipError_t status = (call);                                                   \
    if (status != hipSuccess) {                                                         \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status));               \
      std::exit(3);                                                                     \
    }                                                                                   \
  } while (0)

namespace work {

__global__ void fill(float* out, int count, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = value;
}

// The first element goes to place `distance`.
__global__ void overrun(float* out, const float* in, int count, long distance) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i == 0 ? distance : i] = in[i] * 2;
}

__global__ void reuse(int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += 1;
}

__global__ void follow(const int* where, int* to) { to[threadIdx.x] = where[threadIdx.x]; }

__global__ void trap(int* values) {
  if (values[threadIdx.x] == 0) __builtin_trap();
  values[threadIdx.x] = 0;
}

__global__ void illegal(int* values) {
  values[threadIdx.x] = 1;
  asm volatile(".long 0xf0001100\n.long 0");
}

__global__ void spin(volatile int* flag) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(1);
}

}  // namespace work

// So large that ROCr gives each a block of its own, which is unmapped when it is freed.
constexpr int kCount = 1 << 20;

template <typename T>
__attribute__((noinline)) T* make_buffer(size_t count) {
  T* memory = nullptr;
  CHECK(hipMalloc(&memory, count * sizeof(T)));
  CHECK(hipMemset(memory, 0, count * sizeof(T)));
  return memory;
}

__attribute__((noinline)) void drop_buffer(void* memory) { CHECK(hipFree(memory)); }

static long g_distance = kCount;

static void run(const std::string& which) {
  float* in = make_buffer<float>(kCount);
  float* out = make_buffer<float>(kCount);
  int* values = make_buffer<int>(kCount);
  for (int i = 0; i < 20; ++i) work::fill<<<kCount / 256, 256>>>(in, kCount, 1.0f);
  CHECK(hipDeviceSynchronize());
  std::printf("{\"in\": \"%p\", \"out\": \"%p\", \"values\": \"%p\"}\n", (void*)in, (void*)out,
              (void*)values);
  std::fflush(stdout);
  if (which == "none") return;
  if (which == "page") work::overrun<<<kCount / 256, 256>>>(out, in, kCount, g_distance);
  if (which == "free") {
    drop_buffer(values);
    work::reuse<<<kCount / 256, 256>>>(values, kCount);
  }
  if (which == "null") work::follow<<<1, 64>>>(nullptr, values);
  if (which == "host") work::follow<<<1, 64>>>(static_cast<int*>(std::calloc(1 << 20, 4)), values);
  if (which == "trap") work::trap<<<2, 64>>>(values);
  if (which == "illegal") work::illegal<<<1, 64>>>(values);
  if (which == "crash" || which == "spin") {
    work::spin<<<1, 64>>>(values);
    if (which == "crash") {
      CHECK(hipStreamQuery(nullptr) == hipErrorNotReady ? hipSuccess : hipSuccess);
      std::abort();
    }
  }
  if (which == "error") CHECK(hipMemcpy(values, in, size_t{1} << 40, hipMemcpyDeviceToDevice));
  CHECK(hipDeviceSynchronize());
  std::printf("done\n");
}

int main(int argc, char** argv) {
  if (argc > 2) g_distance = std::atol(argv[2]);
  run(argc > 1 ? argv[1] : "none");
  return 0;
}
