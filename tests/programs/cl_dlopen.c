// needs: opencl_headers
// Uses OpenCL through dlopen and dlsym only: nothing that a preloaded library could stand before.
//   cl_dlopen [N]   N kernels and N/10 writes. Prints its counts as one JSON line.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

static void* library;

static void* find(const char* name) {
  void* function = dlsym(library, name);
  if (function == NULL) {
    fprintf(stderr, "%s is missing\n", name);
    exit(1);
  }
  return function;
}
#define FIND(name) __typeof__(&name) p_##name = (__typeof__(&name))find(#name)

static const char* const kSource = "__kernel void dl_kernel(__global int* d) { d[0] += 1; }";

int main(int argc, char** argv) {
  const int kernels = argc > 1 ? atoi(argv[1]) : 100;
  int writes = 0;
  library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 77;
  FIND(clGetPlatformIDs);
  FIND(clGetDeviceIDs);
  FIND(clCreateContext);
  FIND(clCreateCommandQueue);
  FIND(clCreateProgramWithSource);
  FIND(clBuildProgram);
  FIND(clCreateKernel);
  FIND(clCreateBuffer);
  FIND(clSetKernelArg);
  FIND(clEnqueueNDRangeKernel);
  FIND(clEnqueueWriteBuffer);
  FIND(clFinish);
  cl_platform_id platform;
  cl_device_id device;
  cl_int code;
  const size_t one = 1;
  int data[16] = {0};
  if (p_clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) return 77;
  if (p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) return 77;
  cl_context context = p_clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  cl_command_queue queue = p_clCreateCommandQueue(context, device, 0, &code);
  const char* source = kSource;
  cl_program program = p_clCreateProgramWithSource(context, 1, &source, NULL, &code);
  if (p_clBuildProgram(program, 1, &device, "", NULL, NULL) != CL_SUCCESS) return 1;
  cl_kernel kernel = p_clCreateKernel(program, "dl_kernel", &code);
  cl_mem buffer = p_clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof data, NULL, &code);
  if (p_clSetKernelArg(kernel, 0, sizeof buffer, &buffer) != CL_SUCCESS) return 1;
  for (int i = 0; i < kernels; ++i) {
    if (i % 10 == 0) {
      p_clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, sizeof data, data, 0, NULL, NULL);
      ++writes;
    }
    code = p_clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL);
    if (code != CL_SUCCESS) return 1;
  }
  p_clFinish(queue);
  printf("{\"kernels\":%d,\"h2d\":%d,\"enqueues\":%d}\n", kernels, writes, kernels + writes);
  return 0;
}
