// Kernels that do one thing wrong with memory, or none; the first argument says which. What
// sonde debug --check tells of them is in tests/e2e/check.toml.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check_call.h"

constexpr int kCount = 1000, kGroup = 256;  // items are more than elements

__global__ void write(int* to, int count, int distance) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i + distance] = i;
}
__global__ void add_one(const int* from, int* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i] + 1;
}
__global__ void count(unsigned* to, int place) { atomicAdd(&to[place], 1U); }

template <bool kWaits>
__device__ void turn(int* to) {
  __shared__ int shared[kGroup];
  shared[threadIdx.x] = threadIdx.x;
  if (kWaits) __syncthreads();
  to[threadIdx.x] = shared[kGroup - 1 - threadIdx.x];
}
__global__ void turn_at_once(int* to) { turn<false>(to); }
__global__ void turn_in_order(int* to) { turn<true>(to); }

// A wave hands to the next one through global memory.
__global__ void shift(int* values) {
  const int i = threadIdx.x;
  values[i] = i;
  asm volatile("" ::: "memory");
  values[kGroup + i] = values[(i + 64) % kGroup];
}
__global__ void beyond_local(int* to, int place) {
  extern __shared__ int local[];
  local[threadIdx.x] = 1;
  __syncthreads();
  to[threadIdx.x] = local[threadIdx.x + place];
}
// The same by atomics, which do not race.
__global__ void shift_atomically(int* values) {
  const int i = threadIdx.x;
  atomicExch(&values[i], i);
  values[kGroup + i] = atomicAdd(&values[(i + 64) % kGroup], 0);
}

__attribute__((noinline)) int* make_buffer() {
  int* memory = nullptr;
  CHECK(hipMalloc(&memory, kCount * sizeof(int)));
  return memory;
}

static void fill(int* buffer) {
  const std::vector<int> zeros(kCount);
  CHECK(hipMemcpy(buffer, zeros.data(), kCount * sizeof(int), hipMemcpyHostToDevice));
}

static void run(const std::string& which, int distance) {
  const dim3 groups((kCount + kGroup - 1) / kGroup);
  int *from = make_buffer(), *to = make_buffer();
  if (which != "unwritten") fill(from);
  std::printf("{\"from\": \"%p\", \"to\": \"%p\"}\n", (void*)from, (void*)to);
  std::fflush(stdout);
  if (which == "write" || which == "freed") {
    if (which == "freed") {
      CHECK(hipFree(to));
      make_buffer();  // which does not get its place
    }
    write<<<groups, kGroup>>>(to, kCount, distance);
  }
  if (which == "atomic") count<<<1, 1>>>(reinterpret_cast<unsigned*>(from), kCount + distance);
  if (which == "unwritten" || which == "written") add_one<<<groups, kGroup>>>(from, to, kCount);
  if (which == "race") turn_at_once<<<1, kGroup>>>(to);
  if (which == "global") shift<<<1, kGroup>>>(to);
  if (which == "host") {  // never registered
    int* memory = static_cast<int*>(std::calloc(1 << 20, sizeof(int)));
    memory[0] = 1;
    write<<<groups, kGroup>>>(memory, kCount, 0);
  }
  if (which == "copy") {  // more than there is, and the program ignores what HIP returns
    const std::vector<int> zeros(kCount + distance);
    (void)hipMemcpy(to, zeros.data(), zeros.size() * sizeof(int), hipMemcpyHostToDevice);
    (void)hipGetLastError();  // which returns the copy's error
    CHECK(hipFree(to));       // as a program does that cleans up
  }
  if (which == "copyfreed") {
    int values[4];
    CHECK(hipFree(to));
    (void)hipMemcpy(values, to, sizeof values, hipMemcpyDeviceToHost);
  }
  if (which == "local") beyond_local<<<1, kGroup, kGroup * sizeof(int)>>>(to, distance);
  if (which == "none") {
    write<<<groups, kGroup>>>(to, kCount, 0);
    turn_in_order<<<1, kGroup>>>(to);
    shift_atomically<<<1, kGroup>>>(to);
    beyond_local<<<1, kGroup, kGroup * sizeof(int)>>>(to, 0);
    write<<<groups, kGroup>>>(to, kCount, 0);
    add_one<<<groups, kGroup>>>(to, from, kCount);
  }
  CHECK(hipDeviceSynchronize());
  CHECK(hipFree(from));
  std::printf("done\n");
}

int main(int argc, char** argv) {
  run(argc > 1 ? argv[1] : "none", argc > 2 ? std::atoi(argv[2]) : 0);
  return 0;
}
