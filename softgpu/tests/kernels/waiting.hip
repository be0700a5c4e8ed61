// waiting: kernels whose items wait for each other and need all of them to make progress: a lock
// between the waves of a group, and groups that wait for the preceding group.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

__global__ void lock(int* word, int* plain) {
  if (threadIdx.x % warpSize == 0) {
    while (atomicCAS(word, 0, 1) != 0) {
    }
    *plain = *plain + 1;
    __threadfence();
    atomicExch(word, 0);
  }
  __syncthreads();
}

__global__ void hand_over(volatile int* turn, int* log) {
  __shared__ int started;
  if (threadIdx.x == 0) {
    while (*turn != int(blockIdx.x)) {
    }
    log[blockIdx.x] = blockIdx.x * 3;
    __threadfence();
    started = 1;
  }
  __syncthreads();
  if (threadIdx.x == 63) *turn = *turn + started;
}

// The first wave waits for the last wave of the same group.
__global__ void backwards(int* flag, int* out) {
  if (threadIdx.x < 64) {
    while (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0) __builtin_amdgcn_s_sleep(1);
    out[threadIdx.x] = 5;
  } else if (threadIdx.x == 255) {
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  }
}

int main() {
  int* memory = nullptr;
  if (hipMalloc(&memory, 4096) != hipSuccess) return 1;
  hipMemset(memory, 0, 4096);
  lock<<<30, 256>>>(memory, memory + 1);
  hand_over<<<40, 64>>>(memory + 2, memory + 100);
  backwards<<<1, 256>>>(memory + 3, memory + 200);
  std::vector<int> got(1024);
  if (hipMemcpy(got.data(), memory, 4096, hipMemcpyDeviceToHost) != hipSuccess) return 1;
  int failures = got[1] != 30 * 4;
  for (int i = 0; i < 40; i++) failures += got[100 + i] != i * 3;
  for (int i = 0; i < 64; i++) failures += got[200 + i] != 5;
  std::printf("{\"failures\": %d}\n", failures);
  return failures != 0;
}
