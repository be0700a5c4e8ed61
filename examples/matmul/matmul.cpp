// A matrix product on an OpenCL device, the way a first GPU program is written: copy two matrices
// to the device, multiply them tile by tile in local memory, copy the result back, check it. It
// knows nothing of Sonde; `sonde record -- matmul --m 1000 --k 500 --n 500` watches it from
// outside.
#include <CL/cl.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "matrices.h"

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
double multiply(const Device& device, matrices::Problem& problem) {
  auto& [sizes, a, b, c] = problem;
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

}  // namespace

int main(int argc, char** argv) {
  matrices::Problem problem;
  if (!matrices::make_problem(argc, argv, "matmul", problem)) return 2;
  const Device device = open_device();
  const double seconds = multiply(device, problem);
  close_device(device);
  return matrices::judge(problem, seconds);
}
