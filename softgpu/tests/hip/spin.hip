// spin SECONDS: a kernel whose waves spin, or wait at a barrier for those that do, until the host
// releases them. What they hold in registers, accumulators and LDS meanwhile ends up in the result,
// which the program checks.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kGroups = 3, kItems = 250;

__device__ unsigned through_accumulator(unsigned value) {
#if defined(__gfx90a__)
  asm volatile("v_accvgpr_write_b32 a5, %0" ::"v"(value) : "a5");
#endif
  return value;
}
__device__ unsigned from_accumulator(unsigned value) {
#if defined(__gfx90a__)
  asm volatile("v_accvgpr_read_b32 %0, a5" : "=v"(value)::"a5");
#endif
  return value;
}

__global__ void spin(const volatile unsigned* go, unsigned* out) {
  __shared__ unsigned local[kItems];
  const unsigned item = blockIdx.x * kItems + threadIdx.x;
  local[threadIdx.x] = item * 3;
  const unsigned kept = through_accumulator(item * 7);
  unsigned turns = 0;
  if (threadIdx.x < 64 && (threadIdx.x & 3) != 1) {
    while (*go == 0) ++turns;
  }
  __syncthreads();
  out[item] = from_accumulator(kept) + local[kItems - 1 - threadIdx.x] + (turns == ~0u ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  unsigned *go = nullptr, *out = nullptr;
  if (hipHostMalloc(&go, 4096, 0) != hipSuccess) return 1;
  if (hipMalloc(&out, kGroups * kItems * 4) != hipSuccess) return 1;
  *go = 0;
  spin<<<kGroups, kItems>>>(go, out);
  std::puts("started");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  *static_cast<volatile unsigned*>(go) = 1;
  if (hipDeviceSynchronize() != hipSuccess) return 2;
  std::vector<unsigned> result(kGroups * kItems);
  if (hipMemcpy(result.data(), out, result.size() * 4, hipMemcpyDeviceToHost) != hipSuccess) return 3;
  for (unsigned i = 0; i < result.size(); ++i) {
    const unsigned group = i / kItems, other = group * kItems + kItems - 1 - i % kItems;
    if (result[i] != i * 7 + other * 3) {
      std::printf("item %u has %u\n", i, result[i]);
      return 4;
    }
  }
  std::puts("the result is right");
  return 0;
}
