// What the OpenCL test programs share: a device, a checked call, and the counts that they print as
// one JSON line at the end. The counts are kept here, by the program, so that a trace can be
// compared with something that the tracer had no part in.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void cl_check(cl_int code, const char* what, const char* file, int line) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "%s:%d: %s: %d\n", file, line, what, code);
  exit(1);
}
#define CHECK(call) cl_check((call), #call, __FILE__, __LINE__)
#define CHECK_CODE(code, what) cl_check((code), what, __FILE__, __LINE__)

// Exit status of a test that cannot run here.
enum { kSkip = 77 };

static inline cl_device_id first_device(void) {
  cl_platform_id platform;
  cl_uint count = 0;
  cl_device_id device;
  if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0 ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
    fprintf(stderr, "no OpenCL device\n");
    exit(kSkip);
  }
  return device;
}

static inline cl_context make_context(cl_device_id device) {
  cl_int code;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  CHECK_CODE(code, "clCreateContext");
  return context;
}

static inline cl_command_queue make_queue(cl_context context, cl_device_id device) {
  cl_int code;
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  CHECK_CODE(code, "clCreateCommandQueue");
  return queue;
}

static inline cl_mem make_buffer(cl_context context, size_t bytes) {
  cl_int code;
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  CHECK_CODE(code, "clCreateBuffer");
  return buffer;
}

static inline cl_kernel make_kernel(cl_program program, const char* name) {
  cl_int code;
  cl_kernel kernel = clCreateKernel(program, name, &code);
  CHECK_CODE(code, "clCreateKernel");
  return kernel;
}

static inline cl_program build(cl_context context, cl_device_id device, const char* source) {
  cl_int code;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
  CHECK_CODE(code, "clCreateProgramWithSource");
  CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
  return program;
}
