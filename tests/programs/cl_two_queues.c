// needs: opencl opencl_headers
// A kernel of one queue waits for one of another queue, by its wait list. Prints the handles of
// both events. Each kernel runs once before, for a runtime that compiles at the first launch would
// end the short kernel last.
#include "cl_common.h"

enum { kItems = 64 };

static const char kSource[] =
    "kernel void first(global uint* out, uint n) { uint x = get_global_id(0);"
    "  for (uint i = 0; i < n; ++i) x = x * 1664525u + 1013904223u; out[get_global_id(0)] = x; }"
    "kernel void beside(global uint* out) { out[get_global_id(0)] = 1; }"
    "kernel void second(global uint* out) { out[get_global_id(0)] = 2; }";

int main(void) {
  cl_device_id device = first_device();
  cl_context context = make_context(device);
  cl_program program = build(context, device, kSource);
  const char* names[3] = {"first", "beside", "second"};
  cl_kernel kernels[3];
  cl_command_queue queues[3];
  const cl_uint no_steps = 0, steps = 1000000, items = kItems;
  for (int i = 0; i < 3; ++i) {
    cl_mem buffer = make_buffer(context, items * 4);
    kernels[i] = make_kernel(program, names[i]);
    CHECK(clSetKernelArg(kernels[i], 0, sizeof buffer, &buffer));
    queues[i] = make_queue(context, device);
  }
  const size_t size = kItems;
  CHECK(clSetKernelArg(kernels[0], 1, sizeof no_steps, &no_steps));
  for (int i = 0; i < 3; ++i) {
    CHECK(clEnqueueNDRangeKernel(queues[i], kernels[i], 1, NULL, &size, NULL, 0, NULL, NULL));
    CHECK(clFinish(queues[i]));
  }
  CHECK(clSetKernelArg(kernels[0], 1, sizeof steps, &steps));
  cl_event events[2];
  CHECK(clEnqueueNDRangeKernel(queues[0], kernels[0], 1, NULL, &size, NULL, 0, NULL, &events[0]));
  CHECK(clEnqueueNDRangeKernel(queues[1], kernels[1], 1, NULL, &size, NULL, 0, NULL, NULL));
  CHECK(clEnqueueNDRangeKernel(queues[2], kernels[2], 1, NULL, &size, NULL, 1, &events[0],
                               &events[1]));
  for (int i = 0; i < 3; ++i) CHECK(clFlush(queues[i]));
  CHECK(clWaitForEvents(1, &events[1]));
  printf("{\"first\": \"%p\", \"second\": \"%p\"}\n", (void*)events[0], (void*)events[1]);
  return 0;
}
