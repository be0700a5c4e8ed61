// needs: opencl opencl_headers
// An OpenCL program that is attached to while it runs. Each of two threads has a kernel add to
// numbers, reads them back and compares: the first with one queue all the time, the second with new
// ones. What a queue and an event say about profiling, which was not asked for, is compared, too.
// At the end of its standard input it prints "1 interrupted=0 wrong=N".
#include "cl_common.h"

#include <pthread.h>
#include <unistd.h>

enum { kItems = 64, kStepsOfAQueue = 20 };

static const char kSource[] =
    "kernel void add(global int* data, int by) { data[get_global_id(0)] += by; }";

static volatile int g_end;
static unsigned g_wrong;
static int g_at_work;
static cl_context g_context;
static cl_device_id g_device;
static cl_program g_program;

static void expect(int right) {
  if (!right) __atomic_fetch_add(&g_wrong, 1, __ATOMIC_RELAXED);
}

static void step(cl_command_queue queue, cl_kernel kernel, cl_mem buffer, int by, int* sum) {
  const size_t size = kItems;
  int host[kItems];
  cl_event event;
  CHECK(clSetKernelArg(kernel, 1, sizeof by, &by));
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, &event));
  CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof host, host, 1, &event, NULL));
  *sum += by;
  for (int i = 0; i < kItems; ++i) expect(host[i] == *sum);
  cl_ulong time = 0;
  expect(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL) ==
         CL_PROFILING_INFO_NOT_AVAILABLE);
  cl_command_queue_properties properties = 4711;
  CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
  expect(properties == 0);
  CHECK(clReleaseEvent(event));
}

static void* work(void* new_queues) {
  cl_int code;
  const int zeros[kItems] = {0};
  int sum = 0;
  cl_mem buffer = clCreateBuffer(g_context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros,
                                 (void*)zeros, &code);
  CHECK_CODE(code, "clCreateBuffer");
  cl_kernel kernel = make_kernel(g_program, "add");
  CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));
  cl_command_queue queue = make_queue(g_context, g_device);
  for (int i = 1; !g_end; ++i) {
    step(queue, kernel, buffer, i % 100, &sum);
    if (new_queues != NULL && i % kStepsOfAQueue == 0) {
      CHECK(clReleaseCommandQueue(queue));
      queue = make_queue(g_context, g_device);
    }
    if (i == 2) __atomic_fetch_add(&g_at_work, 1, __ATOMIC_RELEASE);
    usleep(2000);
  }
  CHECK(clReleaseCommandQueue(queue));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseMemObject(buffer));
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  g_device = first_device();
  g_context = make_context(g_device);
  g_program = build(g_context, g_device, kSource);
  pthread_create(&threads[0], NULL, work, NULL);
  pthread_create(&threads[1], NULL, work, &threads);
  while (__atomic_load_n(&g_at_work, __ATOMIC_ACQUIRE) < 2) usleep(1000);
  puts("ready");
  fflush(stdout);
  char word;
  while (read(0, &word, 1) > 0) {
  }
  g_end = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  CHECK(clReleaseProgram(g_program));
  CHECK(clReleaseContext(g_context));
  printf("1 interrupted=0 wrong=%u\n", g_wrong);
  return 0;
}
