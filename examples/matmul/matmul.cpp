// A matrix product on an OpenCL device, the way a first GPU program is written: copy two matrices
// to the device, multiply them tile by tile in local memory, copy the result back, check it. It
// knows nothing of Sonde; `sonde record -- matmul --m 1000 --k 500 --n 500` watches it from
// outside.
#include <CL/cl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr size_t kTile = 16;

// Each work group computes a kTile x kTile piece of C. It walks along the rows of A and down the
// columns of B, one pair of tiles in local memory at a time; outside the matrices there are zeros.
const char* const kSource = R"(
#define TILE 16
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul_tiled(const int m, const int k, const int n, __global const float* a,
                  __global const float* b, __global float* c) {
  __local float tile_a[TILE][TILE];
  __local float tile_b[TILE][TILE];
  const int x = get_local_id(0), y = get_local_id(1);
  const int column = get_global_id(0), row = get_global_id(1);
  float sum = 0.0f;
  for (int start = 0; start < k; start += TILE) {
    tile_a[y][x] = row < m && start + x < k ? a[row * k + start + x] : 0.0f;
    tile_b[y][x] = start + y < k && column < n ? b[(start + y) * n + column] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < TILE; ++i) sum += tile_a[y][i] * tile_b[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
)";

struct Sizes {
  size_t m = 1000, k = 500, n = 500;  // A is m x k, B is k x n
};

struct Device {
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_kernel kernel = nullptr;
};

// An example ends at the first error and names it.
void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::fprintf(stderr, "matmul: %s failed with OpenCL error %d\n", what, code);
  std::exit(1);
}

// The first GPU of any platform, or else the first device.
cl_device_id choose_device() {
  cl_uint count = 0;
  check(clGetPlatformIDs(0, nullptr, &count), "clGetPlatformIDs");
  std::vector<cl_platform_id> platforms(count);
  check(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  for (const cl_device_type type :
       {cl_device_type{CL_DEVICE_TYPE_GPU}, cl_device_type{CL_DEVICE_TYPE_ALL}}) {
    for (cl_platform_id platform : platforms) {
      cl_device_id device = nullptr;
      if (clGetDeviceIDs(platform, type, 1, &device, nullptr) == CL_SUCCESS) return device;
    }
  }
  check(CL_DEVICE_NOT_FOUND, "looking for a device");
  return nullptr;
}

void print_build_log(cl_program program, cl_device_id device) {
  size_t length = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &length);
  std::string log(length, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, length, log.data(), nullptr);
  std::fprintf(stderr, "%s\n", log.c_str());
}

Device open_device() {
  Device device;
  cl_int code = CL_SUCCESS;
  device.id = choose_device();
  device.context = clCreateContext(nullptr, 1, &device.id, nullptr, nullptr, &code);
  check(code, "clCreateContext");
  device.queue = clCreateCommandQueueWithProperties(device.context, device.id, nullptr, &code);
  check(code, "clCreateCommandQueueWithProperties");
  const char* source = kSource;
  cl_program program = clCreateProgramWithSource(device.context, 1, &source, nullptr, &code);
  check(code, "clCreateProgramWithSource");
  code = clBuildProgram(program, 1, &device.id, "", nullptr, nullptr);
  if (code != CL_SUCCESS) print_build_log(program, device.id);
  check(code, "clBuildProgram");
  device.kernel = clCreateKernel(program, "matmul_tiled", &code);
  check(code, "clCreateKernel");
  check(clReleaseProgram(program), "clReleaseProgram");
  return device;
}

void close_device(const Device& device) {
  check(clReleaseKernel(device.kernel), "clReleaseKernel");
  check(clReleaseCommandQueue(device.queue), "clReleaseCommandQueue");
  check(clReleaseContext(device.context), "clReleaseContext");
}

cl_mem create_buffer(const Device& device, cl_mem_flags flags, size_t floats) {
  cl_int code = CL_SUCCESS;
  cl_mem buffer = clCreateBuffer(device.context, flags, floats * sizeof(float), nullptr, &code);
  check(code, "clCreateBuffer");
  return buffer;
}

size_t round_up(size_t value) { return (value + kTile - 1) / kTile * kTile; }

// Copies in, multiplies, copies out. Returns the seconds from the first copy to the last.
double multiply(const Device& device, const Sizes& sizes, const std::vector<float>& a,
                const std::vector<float>& b, std::vector<float>& c) {
  cl_mem buffers[3] = {create_buffer(device, CL_MEM_READ_ONLY, a.size()),
                       create_buffer(device, CL_MEM_READ_ONLY, b.size()),
                       create_buffer(device, CL_MEM_WRITE_ONLY, c.size())};
  const cl_int dimensions[3] = {static_cast<cl_int>(sizes.m), static_cast<cl_int>(sizes.k),
                                static_cast<cl_int>(sizes.n)};
  for (cl_uint i = 0; i < 3; ++i) {
    check(clSetKernelArg(device.kernel, i, sizeof(cl_int), &dimensions[i]), "clSetKernelArg");
    check(clSetKernelArg(device.kernel, i + 3, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
  }
  const size_t global[2] = {round_up(sizes.n), round_up(sizes.m)};
  const size_t local[2] = {kTile, kTile};

  const auto start = std::chrono::steady_clock::now();
  check(clEnqueueWriteBuffer(device.queue, buffers[0], CL_FALSE, 0, a.size() * sizeof(float),
                             a.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  check(clEnqueueWriteBuffer(device.queue, buffers[1], CL_FALSE, 0, b.size() * sizeof(float),
                             b.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  check(clEnqueueNDRangeKernel(device.queue, device.kernel, 2, nullptr, global, local, 0, nullptr,
                               nullptr),
        "clEnqueueNDRangeKernel");
  check(clEnqueueReadBuffer(device.queue, buffers[2], CL_TRUE, 0, c.size() * sizeof(float),
                            c.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  for (cl_mem buffer : buffers) check(clReleaseMemObject(buffer), "clReleaseMemObject");
  return elapsed.count();
}

std::vector<float> random_matrix(size_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> matrix(count);
  std::generate(matrix.begin(), matrix.end(), [&] { return uniform(random); });
  return matrix;
}

// The largest error of a sample of C, in units of what float rounding of a sum of k products
// allows.
double sampled_error(const Sizes& sizes, const std::vector<float>& a, const std::vector<float>& b,
                     const std::vector<float>& c, std::mt19937& random) {
  constexpr int kSamples = 1000;
  double worst = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    // The corners first: that is where a wrong edge of the tiling shows.
    const size_t row = sample < 4 ? (sample & 1) * (sizes.m - 1) : random() % sizes.m;
    const size_t column = sample < 4 ? (sample >> 1) * (sizes.n - 1) : random() % sizes.n;
    double sum = 0;
    double magnitude = 0;
    for (size_t i = 0; i < sizes.k; ++i) {
      const double product = static_cast<double>(a[row * sizes.k + i]) * b[i * sizes.n + column];
      sum += product;
      magnitude += std::fabs(product);
    }
    const double allowed = magnitude * static_cast<double>(sizes.k) * 0x1p-24 + 1e-30;
    worst = std::max(worst, std::fabs(sum - c[row * sizes.n + column]) / allowed);
  }
  return worst;
}

bool read_size(const char* text, size_t& size) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  size = value;
  return *text != '\0' && *end == '\0' && value >= 1 && value <= 30000;
}

bool parse(int argc, char** argv, Sizes& sizes) {
  for (int i = 1; i < argc; i += 2) {
    size_t* size = nullptr;
    if (std::strcmp(argv[i], "--m") == 0) size = &sizes.m;
    if (std::strcmp(argv[i], "--k") == 0) size = &sizes.k;
    if (std::strcmp(argv[i], "--n") == 0) size = &sizes.n;
    if (size == nullptr || i + 1 >= argc || !read_size(argv[i + 1], *size)) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Sizes sizes;
  if (!parse(argc, argv, sizes)) {
    std::fprintf(stderr,
                 "usage: matmul [--m ROWS_OF_A] [--k COLUMNS_OF_A] [--n COLUMNS_OF_B], "
                 "each from 1 to 30000\n");
    return 2;
  }
  std::mt19937 random(1);
  const std::vector<float> a = random_matrix(sizes.m * sizes.k, random);
  const std::vector<float> b = random_matrix(sizes.k * sizes.n, random);
  std::vector<float> c(sizes.m * sizes.n, NAN);

  const Device device = open_device();
  const double seconds = multiply(device, sizes, a, b, c);
  close_device(device);

  const double gflop = 2e-9 * static_cast<double>(sizes.m) * static_cast<double>(sizes.k) *
                       static_cast<double>(sizes.n);
  const double error = sampled_error(sizes, a, b, c, random);
  // NaN, which C is filled with before, must not pass: hence not `error > 1`.
  const bool good = error <= 1.0;
  std::printf(
      "A %zu x %zu, B %zu x %zu: %.2f GFLOP in %.3f s with copies, %.2f GFLOP/s; check %s\n",
      sizes.m, sizes.k, sizes.k, sizes.n, gflop, seconds, gflop / seconds,
      good ? "passed" : "FAILED");
  return good ? 0 : 1;
}
