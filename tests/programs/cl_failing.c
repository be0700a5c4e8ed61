// needs: opencl opencl_headers
// A command that ends with an error: the user event it waits for is set to one.
#include "cl_common.h"

int main(void) {
  cl_int code, status = 0;
  const int pattern = 1;
  cl_device_id device = first_device();
  cl_context context = make_context(device);
  cl_command_queue queue = make_queue(context, device);
  cl_mem buffer = make_buffer(context, 64);
  cl_event gate = clCreateUserEvent(context, &code), event;
  CHECK(clEnqueueFillBuffer(queue, buffer, &pattern, sizeof pattern, 0, 64, 1, &gate, &event));
  CHECK(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
  clWaitForEvents(1, &event);
  CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
  printf("{\"enqueues\":1,\"status\":%d}\n", status);
  return 0;
}
