// bounds: six kernels with well-known bounds, each launched once; the host checks their results.
// Their counters are in tests/counters/bounds_test.py.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "checks.h"

namespace {

constexpr int kItems = 1 << 21;  // of saxpy, and of the input of the reduction
constexpr int kTile = 32, kRows = 8;
// The matrices to transpose: one fits into the L2 together with the result, so it hits from the
// second time on; the other does not.
constexpr int kSmallSide = 960, kLargeSide = 2048, kTimes = 4;
constexpr int kOrder = 256, kProductTile = 16;  // of the matrix product
constexpr int kTable = 1 << 24, kGathered = 1 << 18;

}  // namespace

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// A column of the tile falls into one bank unless its rows are padded.
template <int kPadding>
__device__ void transpose(const float* from, float* to, int side) {
  __shared__ float tile[kTile][kTile + kPadding];
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int row = 0; row < kTile; row += kRows)
    tile[threadIdx.y + row][threadIdx.x] = from[(y + row) * side + x];
  __syncthreads();
  const int to_x = blockIdx.y * kTile + threadIdx.x, to_y = blockIdx.x * kTile + threadIdx.y;
  for (int row = 0; row < kTile; row += kRows)
    to[(to_y + row) * side + to_x] = tile[threadIdx.x][threadIdx.y + row];
}
__global__ void transpose_conflicts(const float* from, float* to, int side) {
  transpose<0>(from, to, side);
}
__global__ void transpose_padded(const float* from, float* to, int side) {
  transpose<1>(from, to, side);
}

__global__ void product(const float* a, const float* b, float* c) {
  __shared__ float of_a[kProductTile][kProductTile], of_b[kProductTile][kProductTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kProductTile + y, column = blockIdx.x * kProductTile + x;
  float sum = 0;
  for (int k = 0; k < kOrder; k += kProductTile) {
    of_a[y][x] = a[row * kOrder + k + x];
    of_b[y][x] = b[(k + y) * kOrder + column];
    __syncthreads();
    for (int i = 0; i < kProductTile; ++i) sum += of_a[y][i] * of_b[i][x];
    __syncthreads();
  }
  c[row * kOrder + column] = sum;
}

__global__ void reduction(const float* from, int n, float* to) {
  __shared__ float sums[256];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += from[i];
  sums[threadIdx.x] = sum;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(to, sums[0]);
}

__global__ void gather(const float* table, const uint32_t* places, float* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = table[places[i]];
}

namespace {

std::vector<float> small_numbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * 2654435761U >> 28 & 7);
  return numbers;
}

void run_saxpy() {
  const std::vector<float> x = small_numbers(kItems);
  OnDevice<float> dx(x), dy(x);
  saxpy<<<kItems / 256, 256>>>(kItems, 3, dx.p, dy.p);
  const std::vector<float> y = dy.get();
  bool good = true;
  for (int i = 0; i < kItems; ++i) good = good && y[i] == 4 * x[i];
  expect(good, "saxpy");
}

template <class Kernel>
void run_transposition(Kernel kernel, int side, int times) {
  const std::vector<float> from = small_numbers(static_cast<size_t>(side) * side);
  OnDevice<float> device(from), to(from);
  // Several times in one launch, so that a matrix that fits into the L2 is read from memory only
  // once.
  const dim3 groups(side / kTile, side / kTile, times), group(kTile, kRows);
  kernel<<<groups, group>>>(device.p, to.p, side);
  const std::vector<float> turned = to.get();
  bool good = true;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) good = good && turned[x * side + y] == from[y * side + x];
  expect(good, "transposition");
}

void run_product() {
  const std::vector<float> a = small_numbers(kOrder * kOrder);
  OnDevice<float> da(a), db(a), dc(a);
  const dim3 groups(kOrder / kProductTile, kOrder / kProductTile);
  product<<<groups, dim3(kProductTile, kProductTile)>>>(da.p, db.p, dc.p);
  const std::vector<float> c = dc.get();
  bool good = true;
  for (int y = 0; y < kOrder; y += 37)
    for (int x = 0; x < kOrder; ++x) {
      float sum = 0;
      for (int k = 0; k < kOrder; ++k) sum += a[y * kOrder + k] * a[k * kOrder + x];
      good = good && c[y * kOrder + x] == sum;
    }
  expect(good, "product");
}

void run_reduction() {
  const std::vector<float> from = small_numbers(kItems);
  OnDevice<float> device(from), sum(std::vector<float>(1));
  reduction<<<512, 256>>>(device.p, kItems, sum.p);
  expect(sum.get()[0] == std::accumulate(from.begin(), from.end(), 0.0F), "reduction");
}

void run_gather() {
  const std::vector<float> table = small_numbers(kTable);
  std::vector<uint32_t> places(kGathered);
  uint64_t state = 1;
  for (uint32_t& place : places) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    place = static_cast<uint32_t>(state >> 40) % kTable;
  }
  OnDevice<float> device(table), to(std::vector<float>(kGathered, 0.0F));
  OnDevice<uint32_t> where(places);
  gather<<<kGathered / 256, 256>>>(device.p, where.p, to.p);
  const std::vector<float> found = to.get();
  bool good = true;
  for (int i = 0; i < kGathered; ++i) good = good && found[i] == table[places[i]];
  expect(good, "gather");
}

}  // namespace

int main() {
  run_saxpy();
  run_transposition(transpose_conflicts, kSmallSide, kTimes);
  run_transposition(transpose_padded, kLargeSide, 1);
  run_product();
  run_reduction();
  run_gather();
  return report();
}
