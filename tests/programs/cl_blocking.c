// needs: opencl opencl_headers
// Copies to a device and waits for each, and enqueues nothing else: cl_blocking COPIES.
#include "cl_common.h"

int main(int argc, char** argv) {
  const int copies = argc > 1 ? atoi(argv[1]) : 1;
  cl_device_id device = first_device();
  cl_context context = make_context(device);
  cl_command_queue queue = make_queue(context, device);
  char data[4096] = {0};
  cl_mem buffer = make_buffer(context, sizeof data);
  for (int i = 0; i < copies; ++i) {
    CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, sizeof data, data, 0, NULL, NULL));
  }
  CHECK(clReleaseMemObject(buffer));
  CHECK(clReleaseCommandQueue(queue));
  CHECK(clReleaseContext(context));
  return 0;
}
