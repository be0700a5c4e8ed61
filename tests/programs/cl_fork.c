// needs: opencl opencl_headers
// Forks with OpenCL in use. Prints the counts of the process whose work must be in the trace.
//   cl_fork after    work is pending at fork; the child leaves through exit(), the parent finishes
//   it cl_fork exec     as above, and the child executes this program with "child" cl_fork before
//   parent and child each use OpenCL on their own after the fork cl_fork child    N kernels and
//   nothing else
#include <sys/wait.h>
#include <unistd.h>

#include "cl_common.h"

enum { kKernels = 40 };
static const char* const kSource = "__kernel void forked(__global int* d) { d[0] += 1; }";

struct Work {
  cl_context context;
  cl_command_queue queue;
  cl_kernel kernel;
  cl_mem buffer;
};

static struct Work make_work(void) {
  struct Work work;
  cl_device_id device = first_device();
  work.context = make_context(device);
  work.queue = make_queue(work.context, device);
  work.kernel = make_kernel(build(work.context, device, kSource), "forked");
  work.buffer = make_buffer(work.context, 64);
  CHECK(clSetKernelArg(work.kernel, 0, sizeof work.buffer, &work.buffer));
  return work;
}

static void launch(const struct Work* work, int count, cl_uint waits, const cl_event* list) {
  const size_t size = 1;
  for (int i = 0; i < count; ++i) {
    CHECK(
        clEnqueueNDRangeKernel(work->queue, work->kernel, 1, NULL, &size, NULL, waits, list, NULL));
  }
}

static void print(const char* who, int kernels) {
  printf("{\"process\":\"%s\",\"pid\":%d,\"kernels\":%d,\"enqueues\":%d}\n", who, getpid(), kernels,
         kernels);
  fflush(stdout);
}

static int run_alone(const char* who) {
  const struct Work work = make_work();
  launch(&work, kKernels, 0, NULL);
  CHECK(clFinish(work.queue));
  print(who, kKernels);
  return 0;
}

static int wait_for(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "after";
  if (strcmp(mode, "child") == 0) return run_alone("child");
  if (strcmp(mode, "before") == 0) {
    const pid_t child = fork();
    if (child == 0) return run_alone("child");
    const int code = run_alone("parent");
    return wait_for(child) | code;
  }
  const struct Work work = make_work();
  cl_int code;
  cl_event gate = clCreateUserEvent(work.context, &code);
  CHECK_CODE(code, "clCreateUserEvent");
  launch(&work, kKernels, 1, &gate);
  const pid_t child = fork();
  if (child == 0) {
    if (strcmp(mode, "exec") == 0) execl(argv[0], argv[0], "child", (char*)NULL);
    exit(0);
  }
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clFinish(work.queue));
  launch(&work, kKernels, 0, NULL);
  CHECK(clFinish(work.queue));
  print("parent", 2 * kKernels);
  return wait_for(child);
}
