// Kernels that fail, one for each way in which they can. In tests/hip/hip_faults.hip, and as a code
// object for tests/hip/fault.py.
#ifndef FAULT_KERNELS_H
#define FAULT_KERNELS_H

#include <hip/hip_runtime.h>

#include <cassert>

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

// The address is one byte off.
__global__ void misalign(int* values) {
  atomicAdd(reinterpret_cast<int*>(reinterpret_cast<char*>(values) + 1), 1);
}

// The same of __shared__ memory.
__global__ void misalign_shared(int* values) {
  __shared__ int shared[64];
  shared[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  atomicAdd(reinterpret_cast<int*>(reinterpret_cast<char*>(shared) + 2), 1);
  __syncthreads();
  values[threadIdx.x] = shared[threadIdx.x];
}

// Beyond the local array, by so many elements as the first value says.
__global__ void overflow(int* values) {
  volatile int local[32];
  for (int i = 0; i < 32; ++i) local[i] = i;
  local[values[0] + 1000000] = 1;
  values[1] = local[threadIdx.x % 32];
}

__global__ void outside(int* values) {
  __shared__ int shared[64];
  volatile int* where = shared;
  // Through a pointer whose kind the compiler does not know.
  if (values[0] == 1) where = values;
  where[threadIdx.x + 100000] = 1;
  values[1] = where[0];
}

__global__ void check(int* values, int count) {
  assert(values[threadIdx.x] + 1 == count);
  values[threadIdx.x] = 0;
}

// When the host says so.
__global__ void later(volatile int* flag, volatile int* where) {
  while (*flag == 0) __builtin_amdgcn_s_sleep(1);
  where[threadIdx.x] = 1;
}

}  // namespace work

#endif
