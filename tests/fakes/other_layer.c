/* A layer of the user's own, to chain with Sonde's. Counts kernel launches and prints the count to
 * the file OTHER_LAYER_OUT at exit. It can also stand for a device with a clock of its own:
 *   OTHER_LAYER_SHIFT=1   event times are RAW plus an offset
 *   OTHER_LAYER_TIMER=1   clGetDeviceAndHostTimer works and tells that clock
 *   OTHER_LAYER_SLOW=MS   a copy to the device that waits takes so much longer */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../programs/cpu_clock.h"

static const cl_ulong kOffset = 1000000000000000ull;
static cl_icd_dispatch next;
static cl_icd_dispatch mine;
static unsigned long launches;

static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t* offset, const size_t* global, const size_t* local, cl_uint waits,
                     const cl_event* list, cl_event* event) {
  __atomic_add_fetch(&launches, 1, __ATOMIC_RELAXED);
  return next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, list,
                                     event);
}

static cl_int write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, const void* data, cl_uint waits, const cl_event* list,
                           cl_event* event) {
  const cl_int code =
      next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, data, waits, list, event);
  const struct timespec pause = {0, 1000000L * atoi(getenv("OTHER_LAYER_SLOW"))};
  if (blocking) nanosleep(&pause, NULL);
  return code;
}

static cl_int profiling(cl_event event, cl_profiling_info what, size_t room, void* value,
                        size_t* size_ret) {
  const cl_int code = next.clGetEventProfilingInfo(event, what, room, value, size_ret);
  if (code == CL_SUCCESS && value != NULL) *(cl_ulong*)value += kOffset;
  return code;
}

static cl_int timer(cl_device_id device, cl_ulong* device_time, cl_ulong* host_time) {
  (void)device;
  *host_time = (cl_ulong)clock_ns(CLOCK_MONOTONIC_RAW);
  *device_time = *host_time + kOffset;
  return CL_SUCCESS;
}

static void __attribute__((destructor)) print_count(void) {
  const char* path = getenv("OTHER_LAYER_OUT");
  FILE* file = path != NULL ? fopen(path, "a") : NULL;
  if (file == NULL) return;
  fprintf(file, "%lu\n", launches);
  fclose(file);
}

cl_int clGetLayerInfo(cl_layer_info param, size_t room, void* value, size_t* size_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  if (param != CL_LAYER_API_VERSION) return CL_INVALID_VALUE;
  if (value != NULL && room >= sizeof version) memcpy(value, &version, sizeof version);
  if (size_ret != NULL) *size_ret = sizeof version;
  return CL_SUCCESS;
}

cl_int clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* entries_ret,
                   const cl_icd_dispatch** dispatch) {
  const size_t own = sizeof next / sizeof(void*);
  memcpy(&next, target, (entries < own ? entries : own) * sizeof(void*));
  mine.clEnqueueNDRangeKernel = launch;
  if (getenv("OTHER_LAYER_SHIFT") != NULL) mine.clGetEventProfilingInfo = profiling;
  if (getenv("OTHER_LAYER_SLOW") != NULL) mine.clEnqueueWriteBuffer = write_buffer;
  if (getenv("OTHER_LAYER_TIMER") != NULL) mine.clGetDeviceAndHostTimer = timer;
  *entries_ret = entries < own ? entries : (cl_uint)own;
  *dispatch = &mine;
  return CL_SUCCESS;
}
