// compute: typical HIP programs, each result compared with the host's. Prints one line per failed
// check and a count at the end; exit status 1 if any failed.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include "../hip/checks.h"

__device__ int device_total = 100;
__constant__ int factors[4];
static __device__ int calls = 0;

namespace {

template <class T>
__global__ void add(const T* a, const T* b, T* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

void vector_add() {
  const int n = 100'003;
  std::vector<double> a(n), b(n);
  for (int i = 0; i < n; i++) a[i] = i * 0.5, b[i] = 7 - i;
  OnDevice<double> da(a), db(b), dc(a);
  add<<<(n + 255) / 256, 256>>>(da.p, db.p, dc.p, n);
  std::vector<double> c = dc.get();
  for (int i = 0; i < n; i++) a[i] += b[i];
  expect(a == c, "vector add");
}

constexpr int kTile = 16;
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[kTile][kTile], tb[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; i++) sum += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

void matrix_product() {
  const int n = 96;
  std::vector<float> a(n * n), b(n * n), expected(n * n);
  for (int i = 0; i < n * n; i++) a[i] = float(i % 13), b[i] = float(i % 7 - 3);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) expected[i * n + j] += a[i * n + k] * b[k * n + j];
  OnDevice<float> da(a), db(b), dc(a);
  multiply<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(da.p, db.p, dc.p, n);
  expect(dc.get() == expected, "tiled matrix product");
}

__global__ void reduce(const int* in, long long* out, int n) {
  __shared__ long long part[256];
  int t = threadIdx.x;
  long long sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  part[t] = sum;
  __syncthreads();
  for (int step = 128; step; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) atomicAdd((unsigned long long*)out, (unsigned long long)part[0]);
}

void reduction() {
  std::vector<int> in(200'001);
  std::iota(in.begin(), in.end(), -50'000);
  OnDevice<int> din(in);
  OnDevice<long long> out(std::vector<long long>(1));
  reduce<<<20, 256>>>(din.p, out.p, int(in.size()));
  expect(out.get()[0] == std::accumulate(in.begin(), in.end(), 0ll), "reduction");
}

__global__ void scan(const int* in, int* out) {
  __shared__ int waves[16];
  int t = threadIdx.x, lane = t % warpSize, wave = t / warpSize;
  int v = in[blockIdx.x * blockDim.x + t];
  for (int d = 1; d < warpSize; d *= 2) {
    int other = __shfl_up(v, d);
    if (lane >= d) v += other;
  }
  if (lane == warpSize - 1) waves[wave] = v;
  __syncthreads();
  for (int i = 0; i < wave; i++) v += waves[i];
  out[blockIdx.x * blockDim.x + t] = v;
}

void prefix_sums() {
  const int size = 256, blocks = 5;
  std::vector<int> in(size * blocks), expected(in.size());
  for (size_t i = 0; i < in.size(); i++) in[i] = int(i * 7919 % 101) - 20;
  for (int b = 0; b < blocks; b++)
    std::partial_sum(in.begin() + b * size, in.begin() + (b + 1) * size,
                     expected.begin() + b * size);
  OnDevice<int> din(in), out(in);
  scan<<<blocks, size>>>(din.p, out.p);
  expect(out.get() == expected, "scan with shuffles");
}

__global__ void histogram(const uint8_t* in, int n, unsigned* bins) {
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[in[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

void histograms() {
  std::vector<uint8_t> in(300'000);
  for (size_t i = 0; i < in.size(); i++) in[i] = uint8_t(i * i >> 5);
  std::vector<unsigned> expected(256);
  for (uint8_t v : in) expected[v]++;
  OnDevice<uint8_t> din(in);
  OnDevice<unsigned> bins(std::vector<unsigned>(256, 0));
  histogram<<<16, 256>>>(din.p, int(in.size()), bins.p);
  expect(bins.get() == expected, "histogram with atomics");
}

extern __shared__ double dynamic[];
__global__ void reverse(double* data) {
  int t = threadIdx.x, n = blockDim.x;
  dynamic[t] = data[blockIdx.x * n + t];
  __syncthreads();
  data[blockIdx.x * n + t] = dynamic[n - 1 - t];
}

void dynamic_lds() {
  std::vector<double> data(3 * 192);
  std::iota(data.begin(), data.end(), 0.25);
  OnDevice<double> out(data);
  reverse<<<3, 192, 192 * sizeof(double)>>>(out.p);
  for (int b = 0; b < 3; b++) std::reverse(data.begin() + b * 192, data.begin() + (b + 1) * 192);
  expect(out.get() == data, "dynamic LDS");
}

struct Inner {
  char c;
  double d[2];
};
struct Arguments {
  short s;
  Inner inner;
  float3 v;
  long long l;
};
__global__ void weigh(char first, Arguments a, short middle, Inner b, double* out) {
  out[0] =
      first + a.s + a.inner.c + a.inner.d[0] + a.inner.d[1] + a.v.x + a.v.y + a.v.z + double(a.l);
  out[1] = middle + b.c * 2 + b.d[0] * 3 + b.d[1] * 5;
}

void struct_arguments() {
  Arguments a = {-3, {7, {0.5, 1.25}}, make_float3(1, 2, 4), 1ll << 40};
  Inner b = {9, {100, 1000}};
  OnDevice<double> out(std::vector<double>(2));
  weigh<<<1, 1>>>(5, a, -300, b, out.p);
  std::vector<double> expected = {5 - 3 + 7 + 0.5 + 1.25 + 7 + double(1ll << 40),
                                  -300 + 18 + 300 + 5000};
  expect(out.get() == expected, "struct arguments");
}

__global__ void use_variables() {
  atomicAdd(&device_total, factors[threadIdx.x % 4]);
  atomicAdd(&calls, 1);
}
__global__ void read_calls(int* out) { *out = calls; }

void variables() {
  int given[4] = {1, 10, 100, 1000}, total = 0;
  MUST(hipMemcpyToSymbol(HIP_SYMBOL(factors), given, sizeof(given)));
  use_variables<<<1, 64>>>();
  MUST(hipMemcpyFromSymbol(&total, HIP_SYMBOL(device_total), sizeof(total)));
  expect(total == 100 + 16 * 1111, "variables the host reaches by name");
  OnDevice<int> out(std::vector<int>(1));
  read_calls<<<1, 1>>>(out.p);
  expect(out.get()[0] == 64, "a variable of the device's own");
}

struct Shape {
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
struct Strip : Shape {
  int length;
  __device__ explicit Strip(int l) : length(l) {}
  __device__ int area() const override { return length; }
};
__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void calls_of_all_kinds(int* out) {
  Square square(threadIdx.x);
  Strip strip(threadIdx.x + 1000);
  const Shape* shape = &square;
  if (threadIdx.x % 3 == 0) shape = &strip;
  out[threadIdx.x] = shape->area() + fibonacci(threadIdx.x % 12);
}

void calls_and_recursion() {
  int f[12] = {0, 1};
  for (int i = 2; i < 12; i++) f[i] = f[i - 1] + f[i - 2];
  std::vector<int> expected(64);
  for (int i = 0; i < 64; i++) expected[i] = (i % 3 ? i * i : i + 1000) + f[i % 12];
  OnDevice<int> out(expected);
  MUST(hipMemset(out.p, 0, 64 * sizeof(int)));
  calls_of_all_kinds<<<1, 64>>>(out.p);
  expect(out.get() == expected, "virtual functions and recursion");
}

__global__ void math(const float* x, float* out, double* wide) {
  int i = threadIdx.x;
  out[i] = sinf(x[i]) + expf(x[i] / 40) + logf(x[i] + 101) + powf(fabsf(x[i]), 0.3f) + tanhf(x[i]);
  wide[i] = sin(double(x[i]) * 1e5) + erf(double(x[i]) / 50) + cbrt(double(x[i])) +
            exp(double(x[i]) / 30);
}

void math_library() {
  std::vector<float> x(200);
  for (int i = 0; i < 200; i++) x[i] = float(i) - 99.5f;
  OnDevice<float> in(x), out(x);
  OnDevice<double> wide(std::vector<double>(200, 0));
  math<<<1, 200>>>(in.p, out.p, wide.p);
  std::vector<float> got = out.get();
  std::vector<double> got_wide = wide.get();
  double worst = 0, worst_wide = 0;
  for (int i = 0; i < 200; i++) {
    double v = x[i];
    double e = std::sin(v) + std::exp(v / 40) + std::log(v + 101) + std::pow(std::fabs(v), 0.3) +
               std::tanh(v);
    double w = std::sin(v * 1e5) + std::erf(v / 50) + std::cbrt(v) + std::exp(v / 30);
    worst = std::max(worst, std::fabs(got[i] - e) / std::max(1.0, std::fabs(e)));
    worst_wide = std::max(worst_wide, std::fabs(got_wide[i] - w) / std::max(1.0, std::fabs(w)));
  }
  expect(worst < 1e-6, "single-precision functions");
  expect(worst_wide < 1e-14, "double-precision functions");
}

__global__ void print(int n) {
  if (threadIdx.x < 2)
    printf("item %d of %s: %5.2f %lld %c %#x %%\n", int(threadIdx.x), "print", n * 1.5, 1ll << 40,
           'z', 255u);
}

__global__ void list(int* out) {
  int* own = static_cast<int*>(malloc(16 * sizeof(int)));
  for (int i = 0; i < 16; i++) own[i] = i * int(threadIdx.x);
  int sum = 0;
  for (int i = 0; i < 16; i++) sum += own[i];
  free(own);
  out[threadIdx.x] = sum;
}

void device_malloc() {
  std::vector<int> expected(32);
  for (int i = 0; i < 32; i++) expected[i] = 120 * i;
  OnDevice<int> out(std::vector<int>(32, 0));
  list<<<1, 32>>>(out.p);
  expect(out.get() == expected, "malloc in a kernel");
}

__global__ void spoil(int* p) { p[threadIdx.x] = 1; }
__global__ void print_from(const char* text) { printf("%d %s\n", 5, text); }
__global__ void trap() { __builtin_trap(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && !std::strcmp(argv[1], "fault")) {
    spoil<<<1, 64>>>(reinterpret_cast<int*>(0x10000));
    return hipDeviceSynchronize() != hipSuccess;
  }
  if (argc > 1 && !std::strcmp(argv[1], "print")) {
    print_from<<<1, 1>>>(reinterpret_cast<const char*>(0x20000));
    return hipDeviceSynchronize() != hipSuccess;
  }
  if (argc > 1 && !std::strcmp(argv[1], "trap")) {
    trap<<<1, 64>>>();
    return hipDeviceSynchronize() != hipSuccess;
  }
  vector_add();
  matrix_product();
  reduction();
  prefix_sums();
  histograms();
  dynamic_lds();
  struct_arguments();
  variables();
  calls_and_recursion();
  math_library();
  device_malloc();
  print<<<1, 64>>>(3);
  MUST(hipDeviceSynchronize());
  return report();
}
