// cooperative: groups that wait for all others, including those that start later, and groups of
// maximum size. Prints how many checks there were, and how many failed.
#include <hip/hip_runtime.h>
// After hip_runtime.h, which it needs.
#include <hip/hip_cooperative_groups.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

int checks = 0, failures = 0;

void require(hipError_t status, const char* what) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(status));
  std::exit(1);
}
void expect(bool is_right, const char* what) {
  ++checks;
  if (is_right) return;
  ++failures;
  std::printf("%s is wrong\n", what);
}
template <class T>
T* on_device(const std::vector<T>& values) {
  T* memory = nullptr;
  require(hipMalloc(&memory, values.size() * sizeof(T)), "hipMalloc");
  require(hipMemcpy(memory, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice),
          "hipMemcpy");
  return memory;
}
template <class T>
std::vector<T> from_device(const T* memory, size_t count) {
  std::vector<T> values(count);
  require(hipMemcpy(values.data(), memory, count * sizeof(T), hipMemcpyDeviceToHost), "hipMemcpy");
  return values;
}

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
  int *d_data = on_device(data), *d_sums = on_device(sums), count = kCount;
  void* arguments[] = {&d_data, &count, &d_sums};
  require(hipLaunchCooperativeKernel(reinterpret_cast<void*>(grid_barrier), dim3(16), dim3(128),
                                     arguments, 0, nullptr),
          "hipLaunchCooperativeKernel");
  require(hipDeviceSynchronize(), "the barrier of a grid");
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kCount; ++i) data[i] += round * i;
    for (int i = 0; i < kCount; ++i) sums[i] += data[(i + 1) % kCount];
  }
  expect(from_device(d_sums, kCount) == sums, "the barrier of a grid");
}

}  // namespace

int main() {
  for (int turn = 0; turn < 2; ++turn) check_grid_barrier();
  for (const bool sleeps : {false, true}) {
    int *turn = on_device(std::vector<int>(1)), *order = on_device(std::vector<int>(kGroups));
    backwards<<<kGroups, 128>>>(turn, order, sleeps);
    std::vector<int> wanted(kGroups);
    std::iota(wanted.rbegin(), wanted.rend(), 0);
    expect(from_device(order, kGroups) == wanted, "the order of groups");
  }
  std::vector<int> numbers(16384);
  std::iota(numbers.begin(), numbers.end(), -5000);
  int *in = on_device(numbers), *out = on_device(std::vector<int>(100));
  large_group<<<3, 1024, 65536>>>(in, out);
  require(hipGetLastError(), "a group of 1024 with 64 KiB");
  expect(from_device(out, 3) == std::vector<int>(3, std::accumulate(numbers.begin(), numbers.end(), 0)),
         "a group of 1024 with 64 KiB");
  early_end<<<1, 256>>>(out);
  expect(from_device(out, 100) == std::vector<int>(100, 100), "a barrier of the waves that are left");
  std::printf("{\"checks\": %d, \"failures\": %d}\n", checks, failures);
  return failures != 0;
}
