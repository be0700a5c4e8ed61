// needs: opencl opencl_headers
// Measures what a call costs the program, to be compared with and without a tracer.
//   cl_overhead [N]   N enqueues and 100 N cheap calls; prints ns per call, the best of five rounds
#include "cl_common.h"
#include "cpu_clock.h"

static const char* const kSource = "__kernel void nothing(__global int* d) {}";

static double now_ns(clockid_t clock) { return (double)clock_ns(clock); }

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 2000;
  const size_t one = 1;
  cl_uint units;
  double cheap = 1e18, enqueue = 1e18, wall = 1e18, blocking = 1e18;
  char byte[64] = {0};
  cl_device_id device = first_device();
  cl_context context = make_context(device);
  cl_command_queue queue = make_queue(context, device);
  cl_kernel kernel = make_kernel(build(context, device, kSource), "nothing");
  cl_mem buffer = make_buffer(context, sizeof byte);
  CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  for (int round = 0; round < 5; ++round) {
    double begin = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < 100 * count; ++i) {
      clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    }
    double each = (now_ns(CLOCK_MONOTONIC) - begin) / (100.0 * count);
    if (each < cheap) cheap = each;

    begin = now_ns(CLOCK_MONOTONIC);
    const double begin_cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < count; ++i) {
      CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
    }
    CHECK(clFinish(queue));
    each = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu) / count;
    if (each < enqueue) enqueue = each;
    each = (now_ns(CLOCK_MONOTONIC) - begin) / count;
    if (each < wall) wall = each;

    begin = now_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < count; ++i) {
      CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof byte, byte, 0, NULL, NULL));
    }
    each = (now_ns(CLOCK_MONOTONIC) - begin) / count;
    if (each < blocking) blocking = each;
  }
  printf(
      "{\"clGetDeviceInfo_ns\":%.1f,\"kernel_cpu_ns\":%.0f,\"kernel_wall_ns\":%.0f,"
      "\"blocking_read_ns\":%.0f}\n",
      cheap, enqueue, wall, blocking);
  return 0;
}
