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

static inline void cl_check(cl_int code, const char* what, int line) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "line %d: %s: %d\n", line, what, code);
  exit(1);
}
#define CHECK(call) cl_check((call), #call, __LINE__)
#define CHECK_CODE(code, what) cl_check((code), what, __LINE__)

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

static inline cl_program build(cl_context context, cl_device_id device, const char* source) {
  cl_int code;
  cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
  CHECK_CODE(code, "clCreateProgramWithSource");
  CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
  return program;
}
