// The same matrix product with HIP, on an AMD GPU or on the software one (softgpu/README.md).
// It knows nothing of Sonde: `sonde record -- matmul_hip` watches it from outside.
#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "matrices.h"

namespace {

constexpr int kTile = 16;

// Each block computes a kTile x kTile piece of C. It walks along the rows of A and down the columns
// of B, one pair of tiles in shared memory at a time; outside the matrices there are zeros.
__global__ void matmul_tiled(int m, int k, int n, const float* a, const float* b, float* c) {
  __shared__ float tile_a[kTile][kTile];
  __shared__ float tile_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * kTile + x, row = blockIdx.y * kTile + y;
  float sum = 0.0F;
  for (int start = 0; start < k; start += kTile) {
    tile_a[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0.0F;
    tile_b[y][x] = start + y < k && column < n ? b[(start + y) * n + column] : 0.0F;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// An example ends at the first error and names it.
void check(hipError_t code, const char* what) {
  if (code == hipSuccess) return;
  std::fprintf(stderr, "matmul_hip: %s failed: %s\n", what, hipGetErrorString(code));
  std::exit(1);
}

float* device_floats(size_t count) {
  void* memory = nullptr;
  check(hipMalloc(&memory, count * sizeof(float)), "hipMalloc");
  return static_cast<float*>(memory);
}

unsigned tiles(size_t size) { return static_cast<unsigned>((size + kTile - 1) / kTile); }

// Copies in, multiplies, copies out. Returns the seconds from the first copy to the last.
double multiply(matrices::Problem& problem) {
  auto& [sizes, a, b, c] = problem;
  float* const device_a = device_floats(a.size());
  float* const device_b = device_floats(b.size());
  float* const device_c = device_floats(c.size());

  const auto start = std::chrono::steady_clock::now();
  check(hipMemcpy(device_a, a.data(), a.size() * sizeof(float), hipMemcpyHostToDevice),
        "hipMemcpy");
  check(hipMemcpy(device_b, b.data(), b.size() * sizeof(float), hipMemcpyHostToDevice),
        "hipMemcpy");
  matmul_tiled<<<dim3(tiles(sizes.n), tiles(sizes.m)), dim3(kTile, kTile)>>>(
      static_cast<int>(sizes.m), static_cast<int>(sizes.k), static_cast<int>(sizes.n), device_a,
      device_b, device_c);
  check(hipGetLastError(), "launching matmul_tiled");
  check(hipMemcpy(c.data(), device_c, c.size() * sizeof(float), hipMemcpyDeviceToHost),
        "hipMemcpy");
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  for (float* memory : {device_a, device_b, device_c}) check(hipFree(memory), "hipFree");
  return elapsed.count();
}

}  // namespace

int main(int argc, char** argv) {
  matrices::Problem problem;
  if (!matrices::make_problem(argc, argv, "matmul_hip", problem)) return 2;
  return matrices::judge(problem, multiply(problem));
}
