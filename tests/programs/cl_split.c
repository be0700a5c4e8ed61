// needs: opencl opencl_headers
// Work for a device from functions with kernels of their own, so that the time of each function is
// that of its kernels: in two threads, and before that in a forked child. cl_split [N]: N rounds.
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cl_common.h"

#define KEEP __attribute__((noinline))

enum { kItems = 4096 };
struct work {
  cl_context context;
  cl_device_id device;
  cl_program program;
  int rounds;
};
static int surprises;

static void launch(cl_command_queue queue, cl_kernel kernel, int times) {
  const size_t items = kItems;
  for (int i = 0; i < times; ++i) {
    errno = 77;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
  }
}
// Each has something to do afterwards, so that the call does not become a jump.
KEEP int launches_many(cl_command_queue queue, cl_kernel kernel) {
  launch(queue, kernel, 6);
  return errno != 77;
}
KEEP int launches_some(cl_command_queue queue, cl_kernel kernel) {
  launch(queue, kernel, 3);
  return errno != 77;
}
KEEP int launches_few(cl_command_queue queue, cl_kernel kernel) {
  launch(queue, kernel, 1);
  return errno != 77;
}

KEEP void* work(void* argument) {
  const struct work* work = argument;
  cl_command_queue queue = make_queue(work->context, work->device);
  cl_mem buffer = make_buffer(work->context, kItems * 4);
  const char* names[3] = {"many", "some", "few"};
  cl_kernel kernels[3];
  for (int i = 0; i < 3; ++i) {
    kernels[i] = make_kernel(work->program, names[i]);
    CHECK(clSetKernelArg(kernels[i], 0, sizeof buffer, &buffer));
  }
  const int zero = 0;
  CHECK(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, kItems * 4, 0, NULL, NULL));
  int wrong = 0;
  for (int i = 0; i < work->rounds; ++i) {
    wrong += launches_many(queue, kernels[0]);
    wrong += launches_some(queue, kernels[1]);
    wrong += launches_few(queue, kernels[2]);
  }
  int first = 0;
  CHECK(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof first, &first, 0, NULL, NULL));
  wrong += first != work->rounds * (6 * 1 + 3 * 2 + 1 * 3);
  __atomic_fetch_add(&surprises, wrong, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; ++i) CHECK(clReleaseKernel(kernels[i]));
  CHECK(clReleaseMemObject(buffer));
  CHECK(clReleaseCommandQueue(queue));
  return NULL;
}

static void in_threads(int rounds) {
  struct work shared = {.device = first_device(), .rounds = rounds};
  shared.context = make_context(shared.device);
  shared.program = build(shared.context, shared.device,
                         "__kernel void many(__global int* d) { d[get_global_id(0)] += 1; }"
                         "__kernel void some(__global int* d) { d[get_global_id(0)] += 2; }"
                         "__kernel void few(__global int* d) { d[get_global_id(0)] += 3; }");
  pthread_t other;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 * 1024);
  pthread_create(&other, &small, work, &shared);
  work(&shared);
  pthread_join(other, NULL);
  CHECK(clReleaseProgram(shared.program));
  CHECK(clReleaseContext(shared.context));
}

int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 10;
  const pid_t child = fork();  // before OpenCL is used, which does not outlive a fork
  if (child == 0) {
    in_threads(rounds);
    exit(surprises != 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkip) return kSkip;
  surprises += status != 0;
  in_threads(rounds);
  printf("{\"launches\": %d, \"surprises\": %d}\n", rounds * 10 * 4, surprises);
  return surprises != 0;
}
