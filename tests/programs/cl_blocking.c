// needs: opencl opencl_headers
// Copies to a device and waits for each, and enqueues nothing else: cl_blocking COPIES.
#include "cl_common.h"

int main(int argc, char** argv) {
  const int copies = argc > 1 ? atoi(argv[1]) : 1;
  cl_int code;
  cl_device_id device = first_device();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  CHECK_CODE(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  CHECK_CODE(code, "clCreateCommandQueue");
  char data[4096] = {0};
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof data, NULL, &code);
  CHECK_CODE(code, "clCreateBuffer");
  for (int i = 0; i < copies; ++i) {
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
  }
  CHECK(clReleaseMemObject(buffer));
  CHECK(clReleaseCommandQueue(queue));
  CHECK(clReleaseContext(context));
  return 0;
}
