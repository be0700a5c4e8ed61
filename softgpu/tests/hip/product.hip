// product TIMES [block]: multiplies matrices of 256 x 256 that many times, waiting for each, and
// prints the time per product. HIP's waiting thread spins unless told to block: on two cores it
// then occupies one of them.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "checks.h"

namespace {

constexpr int kSide = 256, kTile = 16;

__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0;
  for (int start = 0; start < kSide; start += kTile) {
    tile_a[y][x] = a[row * kSide + start + x];
    tile_b[y][x] = b[(start + y) * kSide + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  c[row * kSide + column] = sum;
}

// Small integers, so that no sum is rounded.
int element(int matrix, int row, int column) { return (row * 7 + column * 3 + matrix) % 11 - 5; }

std::vector<float> matrix(int which) {
  std::vector<float> made(kSide * kSide);
  for (int i = 0; i < kSide * kSide; ++i) made[i] = float(element(which, i / kSide, i % kSide));
  return made;
}

int wrong_elements(const std::vector<float>& c) {
  int wrong = 0;
  for (int row = 0; row < kSide; ++row) {
    for (int column = 0; column < kSide; ++column) {
      int sum = 0;
      for (int k = 0; k < kSide; ++k) sum += element(0, row, k) * element(1, k, column);
      wrong += c[row * kSide + column] != float(sum);
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const int times = argc > 1 ? atoi(argv[1]) : 1;
  const bool block = argc > 2 && strcmp(argv[2], "block") == 0;
  MUST(hipSetDeviceFlags(block ? hipDeviceScheduleBlockingSync : hipDeviceScheduleSpin));
  const OnDevice<float> a(matrix(0)), b(matrix(1)), c(kSide * kSide);
  const auto multiply_once = [&] {
    multiply<<<dim3(kSide / kTile, kSide / kTile), dim3(kTile, kTile)>>>(a.p, b.p, c.p);
    MUST(hipGetLastError());
    MUST(hipDeviceSynchronize());
  };
  multiply_once();  // loads the code object
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i) multiply_once();
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  const int wrong = wrong_elements(c.get());
  printf("{\"products\": %d, \"ms_each\": %.3f, \"failures\": %d}\n", times,
         elapsed.count() / times, wrong);
  return wrong != 0;
}
