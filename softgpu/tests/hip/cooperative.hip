// cooperative: groups that wait for all others, including those that start later, and groups of
// maximum size. Prints how many checks there were, and how many failed.
#include <hip/hip_runtime.h>
// After hip_runtime.h, which it needs.
#include <hip/hip_cooperative_groups.h>

#include <numeric>
#include <vector>

#include "checks.h"

namespace {

constexpr int kRounds = 5, kCount = 5000, kGroups = 40;

// Each round reads what other groups wrote in it.
__global__ void grid_barrier(int* data, int count, int* sums) {
  const auto grid = cooperative_groups::this_grid();
  const int id = static_cast<int>(grid.thread_rank()), size = static_cast<int>(grid.size());
  for (int round = 0; round < kRounds; ++round) {
    for (int i = id; i < count; i += size) data[i] += round * i;
    grid.sync();
    for (int i = id; i < count; i += size) sums[i] += data[(i + 1) % count];
    grid.sync();
  }
}

// The last group goes first; the others spin or sleep until their successor is done.
__global__ void backwards(int* turn, int* order, bool sleeps) {
  if (threadIdx.x == 0) {
    const int own = static_cast<int>(gridDim.x - 1 - blockIdx.x);
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != own) {
      if (sleeps) __builtin_amdgcn_s_sleep(2);
    }
    order[own] = static_cast<int>(blockIdx.x);
    __atomic_store_n(turn, own + 1, __ATOMIC_RELEASE);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(1024) large_group(const int* in, int* out) {
  extern __shared__ int local[];  // 64 KiB
  for (unsigned i = threadIdx.x; i < 16384; i += 1024) local[i] = in[i];
  __syncthreads();
  for (unsigned half = 8192; half > 0; half /= 2) {
    for (unsigned i = threadIdx.x; i < half; i += 1024) local[i] += local[i + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = local[0];
}

// Waves that have ended do not take part in a barrier.
__global__ void early_end(int* out) {
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (threadIdx.x >= 100) return;
  atomicAdd(&total, 1);
  __syncthreads();
  out[threadIdx.x] = total;
}

void check_grid_barrier() {
  std::vector<int> data(kCount), sums(kCount);
  std::iota(data.begin(), data.end(), 0);
  OnDevice<int> d_data(data), d_sums(sums);
  int count = kCount;
  void* arguments[] = {&d_data.p, &count, &d_sums.p};
  require(hipLaunchCooperativeKernel(reinterpret_cast<void*>(grid_barrier), dim3(16), dim3(128),
                                     arguments, 0, nullptr),
          "hipLaunchCooperativeKernel");
  require(hipDeviceSynchronize(), "the barrier of a grid");
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kCount; ++i) data[i] += round * i;
    for (int i = 0; i < kCount; ++i) sums[i] += data[(i + 1) % kCount];
  }
  expect(d_sums.get() == sums, "the barrier of a grid");
}

}  // namespace

int main() {
  for (int turn = 0; turn < 2; ++turn) check_grid_barrier();
  for (const bool sleeps : {false, true}) {
    const std::vector<int> zeros(kGroups);
    const OnDevice<int> turn(zeros), order(zeros);
    backwards<<<kGroups, 128>>>(turn.p, order.p, sleeps);
    std::vector<int> wanted(kGroups);
    std::iota(wanted.rbegin(), wanted.rend(), 0);
    expect(order.get() == wanted, "the order of groups");
  }
  std::vector<int> numbers(16384);
  std::iota(numbers.begin(), numbers.end(), -5000);
  const OnDevice<int> in(numbers), out(std::vector<int>(100));
  large_group<<<3, 1024, 65536>>>(in.p, out.p);
  require(hipGetLastError(), "a group of 1024 with 64 KiB");
  expect(out.get(3) == std::vector<int>(3, std::accumulate(numbers.begin(), numbers.end(), 0)),
         "a group of 1024 with 64 KiB");
  early_end<<<1, 256>>>(out.p);
  expect(out.get() == std::vector<int>(100, 100), "a barrier of the waves that are left");
  return report();
}
