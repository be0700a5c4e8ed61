// needs: opencl opencl_headers
// Prints everything a program can observe of its queues, events and references. The output must be
// the same with and without a tracer. Values that a runtime changes by itself shortly after a
// command has finished are waited for.
#include <pthread.h>
#include <time.h>

#include "cl_common.h"

static const char* const kSource =
    "__kernel void see(__global int* d) { d[get_global_id(0)] += 1; }";

static cl_context context;
static cl_device_id device;
static cl_program program;
static cl_kernel kernel;
static cl_mem buffer;

static void pause_ms(long ms) {
  const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

#define COUNT_FUNCTION(name, type, get, param)             \
  static cl_uint name(type object) {                       \
    cl_uint count = 0;                                     \
    CHECK(get(object, param, sizeof count, &count, NULL)); \
    return count;                                          \
  }
COUNT_FUNCTION(event_count, cl_event, clGetEventInfo, CL_EVENT_REFERENCE_COUNT)
COUNT_FUNCTION(queue_count, cl_command_queue, clGetCommandQueueInfo, CL_QUEUE_REFERENCE_COUNT)
COUNT_FUNCTION(context_count, cl_context, clGetContextInfo, CL_CONTEXT_REFERENCE_COUNT)
COUNT_FUNCTION(memory_count, cl_mem, clGetMemObjectInfo, CL_MEM_REFERENCE_COUNT)
COUNT_FUNCTION(kernel_count, cl_kernel, clGetKernelInfo, CL_KERNEL_REFERENCE_COUNT)
COUNT_FUNCTION(program_count, cl_program, clGetProgramInfo, CL_PROGRAM_REFERENCE_COUNT)

// The runtime drops its own references shortly after a command: waits for the count to settle.
static cl_uint settled_event_count(cl_event event, cl_uint expected) {
  for (int i = 0; i < 10 && event_count(event) != expected; ++i) pause_ms(5);
  return event_count(event);
}

static void print_counts(const char* when, cl_command_queue queue) {
  pause_ms(50);
  printf("%s: queue %u context %u memory %u kernel %u program %u\n", when, queue_count(queue),
         context_count(context), memory_count(buffer), kernel_count(kernel),
         program_count(program));
}

static void print_queue(const char* name, cl_command_queue queue) {
  cl_command_queue_properties properties = 99;
  cl_queue_properties list[16];
  size_t size = 99;
  cl_int code =
      clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, &size);
  printf("%s: code %d properties %llx size %zu", name, code, (unsigned long long)properties, size);
  code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, 1, &properties, NULL);
  printf(" short %d", code);
  size = 99;
  code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size);
  printf(" array %d size %zu:", code, size);
  for (size_t i = 0; code == CL_SUCCESS && i < size / sizeof list[0]; ++i) {
    printf(" %llx", (unsigned long long)list[i]);
  }
  code = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, 1, list, NULL);
  printf(" short %d", code);
  cl_uint on_device = 0;
  code = clGetCommandQueueInfo(queue, CL_QUEUE_SIZE, sizeof on_device, &on_device, NULL);
  printf(" size code %d\n", code);
}

static void print_event(const char* name, cl_event event) {
  cl_command_type type = 0;
  cl_int status = 99;
  cl_ulong value = 1;
  size_t size = 0;
  CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
  CHECK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, &size));
  printf("%s: type %x status %d size %zu short %d references %u profiling", name, type, status,
         size, clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, 1, &value, NULL),
         settled_event_count(event, 1));
  for (cl_profiling_info what = CL_PROFILING_COMMAND_QUEUED; what <= CL_PROFILING_COMMAND_COMPLETE;
       ++what) {
    printf(" %d", clGetEventProfilingInfo(event, what, sizeof value, &value, NULL));
  }
  printf(" bad %d short %d\n", clGetEventProfilingInfo(event, 0x9999, sizeof value, &value, NULL),
         clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, 1, &value, NULL));
}

static cl_event launch(cl_command_queue queue, cl_uint waits, const cl_event* list) {
  const size_t size = 4;
  cl_event event = NULL;
  CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, waits, list, &event));
  return event;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int order[64];
static int called;

static void CL_CALLBACK note(cl_event event, cl_int status, void* data) {
  cl_int now = 99;
  clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof now, &now, NULL);
  pthread_mutex_lock(&lock);
  order[called++] = (int)(size_t)data * 100 + status * 10 + now;
  pthread_mutex_unlock(&lock);
}

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

// Commands that wait for a user event: their state and their callbacks, which come in the order of
// the commands unless the queue is out of order.
static void held_commands(cl_command_queue queue, int in_order) {
  cl_int code;
  cl_int status = 99;
  cl_event gate = clCreateUserEvent(context, &code);
  CHECK_CODE(code, "clCreateUserEvent");
  cl_event events[4];
  for (int i = 0; i < 4; ++i) {
    events[i] = launch(queue, 1, &gate);
    CHECK(clSetEventCallback(events[i], CL_COMPLETE, note, (void*)(size_t)(2 * i)));
    CHECK(clSetEventCallback(events[i], CL_COMPLETE, note, (void*)(size_t)(2 * i + 1)));
  }
  CHECK(clRetainEvent(events[0]));
  pause_ms(30);
  for (int i = 0; i < 4; ++i) {
    CHECK(
        clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL));
    printf("held %d: waiting %d references %u\n", i, status > CL_RUNNING, event_count(events[i]));
  }
  printf("gate: references %u profiling %d\n", event_count(gate),
         clGetEventProfilingInfo(gate, CL_PROFILING_COMMAND_START, 8, &status, NULL));
  CHECK(clReleaseEvent(events[0]));
  CHECK(clSetUserEventStatus(gate, CL_COMPLETE));
  CHECK(clWaitForEvents(4, events));
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&lock);
    const int seen = called;
    pthread_mutex_unlock(&lock);
    if (seen == 8) break;
    pause_ms(5);
  }
  if (!in_order) qsort(order, (size_t)called, sizeof order[0], compare);
  printf("callbacks %d:", called);
  for (int i = 0; i < called; ++i) printf(" %d", order[i]);
  printf("\n");
  called = 0;
  for (int i = 0; i < 4; ++i) {
    printf("done %d: references %u\n", i, settled_event_count(events[i], 1));
    CHECK(clReleaseEvent(events[i]));
  }
  CHECK(clReleaseEvent(gate));
}

static void failing_calls(cl_command_queue queue) {
  const size_t size = 4;
  const cl_queue_properties bad[] = {0x4242, 1, 0};
  cl_event event = (cl_event)0x1234;
  cl_int code = 5;
  cl_ulong value;
  printf("fails: %d %d %d %d",
         clEnqueueNDRangeKernel(queue, kernel, 9, NULL, &size, NULL, 0, NULL, &event),
         clEnqueueNDRangeKernel(NULL, kernel, 1, NULL, &size, NULL, 0, NULL, &event),
         clEnqueueReadBuffer(queue, buffer, CL_TRUE, 1 << 20, 4, &value, 0, NULL, &event),
         clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, 4, &value, 1, NULL, &event));
  printf(" event kept %d", event == (cl_event)0x1234);
  printf(" queue %d", clCreateCommandQueueWithProperties(context, device, bad, &code) == NULL);
  printf(" code %d", code);
  printf(" queue %d", clCreateCommandQueue(context, NULL, 0, &code) == NULL);
  printf(" code %d", code);
  printf(" map %d", clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_READ, 1 << 20, 4, 0, NULL,
                                       NULL, &code) == NULL);
  printf(" code %d finish %d wait %d info %d %d callback %d\n", code, clFinish(NULL),
         clWaitForEvents(0, NULL), clGetEventInfo(NULL, CL_EVENT_REFERENCE_COUNT, 8, &value, NULL),
         clGetEventProfilingInfo(NULL, CL_PROFILING_COMMAND_END, 8, &value, NULL),
         clSetEventCallback(NULL, CL_COMPLETE, note, NULL));
}

static void use_queue(const char* name, cl_command_queue queue) {
  int data[64] = {0};
  cl_event events[4];
  print_queue(name, queue);
  print_counts("new", queue);
  for (int i = 0; i < 50; ++i) {
    const size_t size = 4;
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, 0, NULL, NULL));
  }
  events[0] = launch(queue, 0, NULL);
  CHECK(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, 16, data, 0, NULL, &events[1]));
  CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &events[2]));
  CHECK(clEnqueueReadBuffer(queue, buffer, CL_FALSE, 0, 16, data, 0, NULL, &events[3]));
  CHECK(clFinish(queue));
  for (int i = 0; i < 4; ++i) print_event("event", events[i]);
  print_counts("used", queue);
  for (int i = 0; i < 4; ++i) CHECK(clReleaseEvent(events[i]));
  cl_command_queue_properties properties = 0;
  CHECK(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL));
  held_commands(queue, (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0);
  failing_calls(queue);
  CHECK(clRetainCommandQueue(queue));
  print_counts("kept", queue);
  CHECK(clReleaseCommandQueue(queue));
  print_counts("left", queue);
  CHECK(clReleaseCommandQueue(queue));
}

static void CL_CALLBACK gone(cl_mem object, void* data) {
  (void)object;
  *(volatile int*)data = 1;
}

int main(void) {
  cl_int code;
  device = first_device();
  context = make_context(device);
  program = build(context, device, kSource);
  kernel = make_kernel(program, "see");
  buffer = make_buffer(context, 256);
  CHECK(clSetKernelArg(kernel, 0, sizeof buffer, &buffer));

  const cl_queue_properties none[] = {0};
  const cl_queue_properties in_order[] = {CL_QUEUE_PROPERTIES, 0, 0};
  const cl_queue_properties out_of_order[] = {CL_QUEUE_PROPERTIES,
                                              CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
  const cl_queue_properties profiled[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
  use_queue("plain", clCreateCommandQueue(context, device, 0, &code));
  use_queue("out of order",
            clCreateCommandQueue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code));
  use_queue("profiled", clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code));
  use_queue("no list", clCreateCommandQueueWithProperties(context, device, NULL, &code));
  use_queue("empty list", clCreateCommandQueueWithProperties(context, device, none, &code));
  use_queue("list", clCreateCommandQueueWithProperties(context, device, in_order, &code));
  use_queue("list out of order",
            clCreateCommandQueueWithProperties(context, device, out_of_order, &code));
  use_queue("list profiled", clCreateCommandQueueWithProperties(context, device, profiled, &code));

  int destroyed = 0;
  cl_mem other = make_buffer(context, 64);
  CHECK(clSetMemObjectDestructorCallback(other, gone, &destroyed));
  CHECK(clReleaseMemObject(other));
  for (int i = 0; i < 200 && !*(volatile int*)&destroyed; ++i) pause_ms(5);
  pause_ms(50);
  printf("destroyed %d context %u\n", destroyed, context_count(context));
  CHECK(clReleaseKernel(kernel));
  CHECK(clReleaseMemObject(buffer));
  CHECK(clReleaseProgram(program));
  printf("end: context %u\n", context_count(context));
  CHECK(clReleaseContext(context));
  return 0;
}
