#include "backends/opencl/queues.h"

#include <stdlib.h>
#include <string.h>

#include "backends/opencl/devices.h"
#include "backends/opencl/hooks.h"
#include "backends/opencl/pending.h"

namespace sonde::opencl {
namespace {

constexpr size_t kBuckets = 256;
constexpr size_t kMaxProperties = sizeof(Queue::properties) / sizeof(Queue::properties[0]);

std::atomic<Queue*> g_buckets[kBuckets];
std::atomic<Queue*> g_all;
pthread_mutex_t g_define_lock = PTHREAD_MUTEX_INITIALIZER;

std::atomic<Queue*>& bucket_of(cl_command_queue handle) {
  return g_buckets[((word(handle) >> 4) * 0x9e3779b97f4a7c15u) >> 56];
}

// The caller holds g_define_lock.
Queue* make_queue(cl_command_queue handle) {
  Queue* queue = static_cast<Queue*>(calloc(1, sizeof(Queue)));
  if (queue == nullptr) return nullptr;
  queue->handle = handle;
  queue->in_order = true;
  queue->list_lock = PTHREAD_MUTEX_INITIALIZER;
  queue->reap_lock = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<Queue*>& bucket = bucket_of(handle);
  queue->next_in_bucket = bucket.load(std::memory_order_relaxed);
  queue->next_of_all.store(g_all.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return queue;
}

void publish(Queue* queue) {
  if (known_queue(queue->handle) == queue) return;
  bucket_of(queue->handle).store(queue, std::memory_order_release);
  g_all.store(queue, std::memory_order_release);
}

struct Created {
  cl_command_queue handle;
  cl_context context;
  cl_device_id device;
  cl_command_queue_properties asked;
  bool forced;
  bool fresh;  // just created and empty
  const cl_queue_properties* list;
  size_t count;
};

Queue* define_queue(const Created& created) {
  pthread_mutex_lock(&g_define_lock);
  Queue* queue = known_queue(created.handle);
  if (queue == nullptr) queue = make_queue(created.handle);
  if (queue != nullptr) {
    const bool in_order = (created.asked & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0;
    const bool profiles = created.forced || (created.asked & CL_QUEUE_PROFILING_ENABLE) != 0;
    // Ops of an earlier queue with this handle may still be in the list, and never finish.
    queue->in_order = in_order && queue->pending.load() == 0;
    queue->forced = created.forced;
    queue->asked.store((created.asked & CL_QUEUE_PROFILING_ENABLE) != 0);
    queue->property_count = static_cast<uint8_t>(created.count);
    if (created.count != 0) {
      memcpy(queue->properties, created.list, created.count * sizeof(created.list[0]));
    }
    queue->device =
        find_device(created.device, created.fresh && profiles ? created.handle : nullptr);
    sonde_queue definition = {};
    definition.device = queue->device != nullptr ? queue->device->id : 0;
    definition.flags = (in_order ? 0 : 1) | (queue->asked.load() ? 2 : 0);
    definition.handle = word(created.handle);
    definition.context = word(created.context);
    queue->id = agent().define_queue(&definition);
    publish(queue);
  }
  pthread_mutex_unlock(&g_define_lock);
  if (queue != nullptr) start_collector();
  return queue;
}

// Entries of a property list, including the terminator; 0 without a list.
size_t count_properties(const cl_queue_properties* list) {
  if (list == nullptr) return 0;
  size_t count = 1;
  for (; list[0] != 0; list += 2) count += 2;
  return count;
}

// Copies a list and adds profiling; returns the copy's number of entries, 0 if it must not be
// changed.
size_t add_profiling(const cl_queue_properties* list, size_t count, cl_queue_properties* copy,
                     cl_command_queue_properties* asked) {
  *asked = 0;
  if (count + 2 > kMaxProperties) return 0;
  size_t used = 0;
  bool found = false;
  for (size_t i = 0; i + 1 < count; i += 2) {
    copy[used] = list[i];
    copy[used + 1] = list[i + 1];
    if (list[i] == CL_QUEUE_PROPERTIES) {
      found = true;
      *asked = list[i + 1];
      copy[used + 1] |= CL_QUEUE_PROFILING_ENABLE;
    }
    used += 2;
  }
  if (!found) {
    copy[used++] = CL_QUEUE_PROPERTIES;
    copy[used++] = CL_QUEUE_PROFILING_ENABLE;
  }
  copy[used++] = 0;
  return (*asked & (CL_QUEUE_ON_DEVICE | CL_QUEUE_PROFILING_ENABLE)) != 0 ? 0 : used;
}

}  // namespace

Queue* known_queue(cl_command_queue handle) {
  Queue* queue = bucket_of(handle).load(std::memory_order_acquire);
  while (queue != nullptr && queue->handle != handle) queue = queue->next_in_bucket;
  return queue;
}

Queue* first_queue() { return g_all.load(std::memory_order_acquire); }

Queue* find_queue(cl_command_queue handle) {
  if (Queue* queue = known_queue(handle)) return queue;
  Created created = {};
  created.handle = handle;
  next().clGetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof created.context, &created.context,
                               nullptr);
  next().clGetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof created.device, &created.device,
                               nullptr);
  next().clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof created.asked, &created.asked,
                               nullptr);
  return define_queue(created);
}

Queue* queue_of(cl_event event) {
  cl_command_queue handle = nullptr;
  if (next().clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof handle, &handle, nullptr) !=
      CL_SUCCESS) {
    return nullptr;
  }
  return handle != nullptr ? known_queue(handle) : nullptr;
}

void reset_queue_locks() { g_define_lock = PTHREAD_MUTEX_INITIALIZER; }

cl_command_queue hook_clCreateCommandQueue(cl_context context, cl_device_id device,
                                           cl_command_queue_properties properties, cl_int* code) {
  constexpr cl_command_queue_properties kUntouched = CL_QUEUE_PROFILING_ENABLE | CL_QUEUE_ON_DEVICE;
  cl_command_queue queue = nullptr;
  bool forced = false;
  if ((properties & kUntouched) == 0 && !dormant()) {
    queue =
        next().clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, code);
    forced = queue != nullptr;
  }
  if (queue == nullptr) queue = next().clCreateCommandQueue(context, device, properties, code);
  if (queue != nullptr && (properties & CL_QUEUE_ON_DEVICE) == 0) {
    define_queue({queue, context, device, properties, forced, true, nullptr, 0});
  }
  return queue;
}

cl_command_queue hook_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
                                                         const cl_queue_properties* properties,
                                                         cl_int* code) {
  cl_queue_properties copy[kMaxProperties];
  cl_command_queue_properties asked = 0;
  const size_t count = count_properties(properties);
  const size_t used = add_profiling(properties, count, copy, &asked);
  cl_command_queue queue = nullptr;
  if (used != 0 && !dormant())
    queue = next().clCreateCommandQueueWithProperties(context, device, copy, code);
  const bool forced = queue != nullptr;
  if (queue == nullptr) {
    queue = next().clCreateCommandQueueWithProperties(context, device, properties, code);
  }
  if (queue != nullptr && (asked & CL_QUEUE_ON_DEVICE) == 0) {
    define_queue({queue, context, device, asked, forced, true, properties, forced ? count : 0});
  }
  return queue;
}

cl_int hook_clReleaseCommandQueue(cl_command_queue handle) {
  Queue* queue = known_queue(handle);
  if (queue != nullptr) reap(queue, nullptr, true);
  return next().clReleaseCommandQueue(handle);
}

cl_int hook_clGetCommandQueueInfo(cl_command_queue handle, cl_command_queue_info param, size_t room,
                                  void* value, size_t* size_ret) {
  Queue* queue = known_queue(handle);
  if (queue == nullptr) {
    return next().clGetCommandQueueInfo(handle, param, room, value, size_ret);
  }
  if (param == CL_QUEUE_REFERENCE_COUNT) reap(queue, nullptr, true);
  const bool hide = queue->forced && !queue->asked.load(std::memory_order_relaxed);
  if (hide && param == CL_QUEUE_PROPERTIES_ARRAY) {
    size_t size = 0;  // the runtime validates the handle and the parameter
    const cl_int code = next().clGetCommandQueueInfo(handle, param, 0, nullptr, &size);
    // The program gave no list; the runtime has one only because we passed one.
    return code != CL_SUCCESS ? code
                              : answer_info(queue->properties,
                                            queue->property_count * sizeof(queue->properties[0]),
                                            room, value, size_ret);
  }
  const cl_int code = next().clGetCommandQueueInfo(handle, param, room, value, size_ret);
  if (hide && param == CL_QUEUE_PROPERTIES && code == CL_SUCCESS && value != nullptr) {
    *static_cast<cl_command_queue_properties*>(value) &=
        ~static_cast<cl_command_queue_properties>(CL_QUEUE_PROFILING_ENABLE);
  }
  return code;
}

cl_int hook_clSetCommandQueueProperty(cl_command_queue handle,
                                      cl_command_queue_properties properties, cl_bool enable,
                                      cl_command_queue_properties* old_properties) {
  Queue* queue = known_queue(handle);
  if (queue == nullptr || !queue->forced) {
    return next().clSetCommandQueueProperty(handle, properties, enable, old_properties);
  }
  constexpr cl_command_queue_properties kProfiling = CL_QUEUE_PROFILING_ENABLE;
  const cl_command_queue_properties passed = enable ? properties : properties & ~kProfiling;
  const cl_int code = next().clSetCommandQueueProperty(handle, passed, enable, old_properties);
  if (code != CL_SUCCESS) return code;
  if (old_properties != nullptr && !queue->asked.load()) *old_properties &= ~kProfiling;
  if ((properties & kProfiling) != 0) queue->asked.store(enable != CL_FALSE);
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0) queue->in_order = false;
  return code;
}

}  // namespace sonde::opencl
