// Hooks of calls that tell the program that something has finished: what the program learns is
// recorded first. And hooks that hide what the layer adds: references to events, and profiling that
// the program did not request.
#include <stdlib.h>

#include "backends/opencl/hooks.h"
#include "backends/opencl/pending.h"

namespace sonde::opencl {
namespace {

constexpr int kCountTries = 1000;

using Notify = void (*)(cl_event, cl_int, void*);

struct Callback {
  Notify notify;
  void* data;
};

void reap_event(cl_event event) {
  Queue* queue = queue_of(event);
  if (queue != nullptr) reap(queue, event, false);
}

void call_back(cl_event event, cl_int status, void* data) {
  const Callback callback = *static_cast<Callback*>(data);
  free(data);
  reap_event(event);
  callback.notify(event, status, callback.data);
}

// The reference count of an event without our references. The runtime's count and ours are read one
// after the other, so both are read again if ours have changed in between.
cl_int count_references(cl_event event, size_t room, void* value, size_t* size_ret) {
  Queue* queue = queue_of(event);
  if (queue == nullptr || value == nullptr) {
    return next().clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, room, value, size_ret);
  }
  reap(queue, event, false);
  cl_int code = CL_SUCCESS;
  for (int i = 0; i < kCountTries; ++i) {
    const HeldEvents held = held_events(queue, event);
    code = next().clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, room, value, size_ret);
    if (code != CL_SUCCESS) return code;
    if (unchanged(queue, held)) {
      *static_cast<cl_uint*>(value) -= held.held;
      return code;
    }
  }
  return code;
}

}  // namespace

void after_clFinish(cl_int, cl_command_queue handle) {
  Queue* queue = known_queue(handle);
  if (queue != nullptr) reap(queue, nullptr, true);
}

void after_clWaitForEvents(cl_int, cl_uint count, const cl_event* events) {
  for (cl_uint i = 0; i < count && events != nullptr; ++i) {
    if (events[i] != nullptr) reap_event(events[i]);
  }
}

cl_int hook_clGetEventInfo(cl_event event, cl_event_info param, size_t room, void* value,
                           size_t* size_ret) {
  if (param == CL_EVENT_REFERENCE_COUNT) return count_references(event, room, value, size_ret);
  const cl_int code = next().clGetEventInfo(event, param, room, value, size_ret);
  if (param == CL_EVENT_COMMAND_EXECUTION_STATUS && code == CL_SUCCESS && value != nullptr &&
      *static_cast<cl_int*>(value) <= CL_COMPLETE) {
    reap_event(event);
  }
  return code;
}

cl_int hook_clGetEventProfilingInfo(cl_event event, cl_profiling_info param, size_t room,
                                    void* value, size_t* size_ret) {
  Queue* queue = queue_of(event);
  if (queue != nullptr && queue->forced && !queue->asked.load(std::memory_order_relaxed)) {
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  }
  const cl_int code = next().clGetEventProfilingInfo(event, param, room, value, size_ret);
  if (queue != nullptr && code == CL_SUCCESS) reap(queue, event, false);
  return code;
}

cl_int hook_clSetEventCallback(cl_event event, cl_int type, Notify notify, void* data) {
  Callback* callback = nullptr;
  if (type == CL_COMPLETE && notify != nullptr && recording()) {
    callback = static_cast<Callback*>(malloc(sizeof(Callback)));
  }
  if (callback == nullptr) return next().clSetEventCallback(event, type, notify, data);
  *callback = {notify, data};
  const cl_int code = next().clSetEventCallback(event, type, call_back, callback);
  if (code != CL_SUCCESS) free(callback);
  return code;
}

// The reference counts of these objects may include events of finished ops that have not been
// reaped.
#define HOOK_COUNT(function, Handle, count)                                      \
  cl_int hook_##function(Handle object, cl_uint param, size_t room, void* value, \
                         size_t* size_ret) {                                     \
    if (param == (count)) reap_everything();                                     \
    return next().function(object, param, room, value, size_ret);                \
  }
HOOK_COUNT(clGetContextInfo, cl_context, CL_CONTEXT_REFERENCE_COUNT)
HOOK_COUNT(clGetMemObjectInfo, cl_mem, CL_MEM_REFERENCE_COUNT)
HOOK_COUNT(clGetProgramInfo, cl_program, CL_PROGRAM_REFERENCE_COUNT)
HOOK_COUNT(clGetKernelInfo, cl_kernel, CL_KERNEL_REFERENCE_COUNT)

// Barriers of OpenCL 1.0 return no event. Their successors do the same and return one; if those do
// not exist or fail, the program's own call is made, and its op cannot be timed.
cl_int hook_clEnqueueBarrier(cl_command_queue queue, cl_event* event) {
  if (next().clEnqueueBarrierWithWaitList != nullptr &&
      next().clEnqueueBarrierWithWaitList(queue, 0, nullptr, event) == CL_SUCCESS) {
    return CL_SUCCESS;
  }
  *event = nullptr;
  return next().clEnqueueBarrier(queue);
}

cl_int hook_clEnqueueWaitForEvents(cl_command_queue queue, cl_uint count, const cl_event* events,
                                   cl_event* event) {
  if (count != 0 && events != nullptr && next().clEnqueueBarrierWithWaitList != nullptr &&
      next().clEnqueueBarrierWithWaitList(queue, count, events, event) == CL_SUCCESS) {
    return CL_SUCCESS;
  }
  *event = nullptr;
  return next().clEnqueueWaitForEvents(queue, count, events);
}

}  // namespace sonde::opencl
