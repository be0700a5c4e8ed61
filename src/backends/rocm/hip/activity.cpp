#include "backends/rocm/hip/activity.h"

#include <pthread.h>
#include <string.h>

#include "backends/rocm/connection.h"
#include "backends/rocm/free_list.h"
#include "backends/rocm/hip/hip_abi.h"
#include "base/loaded_function.h"

namespace sonde::hip {
namespace {

using rocm::agent;

constexpr uint32_t kMaxDevices = 64;
constexpr uint32_t kMaxQueues = 256;
constexpr size_t kBuckets = 1024;

struct Launched {
  Launched* next;
  uint64_t id;
  rocm::Launch launch;
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Launched* g_buckets[kBuckets];
rocm::FreeList<Launched> g_free;

struct KnownQueue {
  int32_t device;
  uint64_t handle;
  uint32_t id;
};
uint32_t g_devices[kMaxDevices];
KnownQueue g_queues[kMaxQueues];
uint32_t g_queue_count;

// The caller holds the lock.
uint32_t queue_id(int32_t device, uint64_t handle) {
  for (uint32_t i = 0; i < g_queue_count; ++i) {
    if (g_queues[i].device == device && g_queues[i].handle == handle) return g_queues[i].id;
  }
  if (device < 0 || device >= static_cast<int32_t>(kMaxDevices)) return 0;
  uint32_t& known = g_devices[device];
  if (known == 0) {
    struct sonde_device definition = {};
    definition.gpu_id = static_cast<uint32_t>(device);
    definition.clock = SONDE_CLOCK_BOOTTIME;
    definition.backend = "hip";
    definition.name = definition.vendor = definition.driver = definition.location = "";
    definition.kind = "gpu";
    known = agent().define_device(&definition);
  }
  struct sonde_queue definition = {};
  definition.device = known;
  definition.handle = handle;
  const uint32_t id = agent().define_queue(&definition);
  if (g_queue_count < kMaxQueues) g_queues[g_queue_count++] = {device, handle, id};
  return id;
}

uint32_t op_kind(const ActivityRecord& record) {
  if (record.op == kOpDispatch) return SONDE_OP_KERNEL;
  if (record.op == kOpBarrier) return SONDE_OP_BARRIER;
  switch (record.kind) {
    case kCommandWriteBuffer:
    case kCommandWriteRect:
      return SONDE_OP_COPY_H2D;
    case kCommandReadBuffer:
    case kCommandReadRect:
      return SONDE_OP_COPY_D2H;
    case kCommandFill:
      return SONDE_OP_FILL;
    case kCommandMarker:  // reported as a copy when a stream is destroyed
    case kCommandBarrier:
      return SONDE_OP_BARRIER;
    default:
      return SONDE_OP_COPY_D2D;
  }
}

const char* (*g_name_by_pointer)(const void* function, void* stream);
const char* (*g_name_of_function)(void* function);

// Removes the launch with this id from the list.
Launched take(uint64_t id) {
  Launched found = {};
  Launched** at = &g_buckets[id % kBuckets];
  while (*at != nullptr && (*at)->id != id) at = &(*at)->next;
  if (*at == nullptr) return found;
  Launched* entry = *at;
  *at = entry->next;
  found = *entry;
  g_free.give(entry);
  return found;
}

}  // namespace

void find_kernel_names(void* library) {
  find_function(library, "hipKernelNameRefByPtr", g_name_by_pointer);
  find_function(library, "hipKernelNameRef", g_name_of_function);
}

uint32_t kernel_name(const FunctionInfo& function, const char* data) {
  const bool module =
      strstr(function.name, "Module") != nullptr || strstr(function.name, "Drv") != nullptr;
  const char* name = nullptr;
  for (size_t i = 0; i < function.count; ++i) {
    if (function.parameters[i].role != Role::kFunction) continue;
    void* kernel;
    memcpy(&kernel, data + function.parameters[i].offset, sizeof kernel);
    if (module && g_name_of_function != nullptr) name = g_name_of_function(kernel);
    if (!module && g_name_by_pointer != nullptr) name = g_name_by_pointer(kernel, nullptr);
    break;
  }
  return name != nullptr ? agent().intern(name, strlen(name)) : 0;
}

namespace {

// The latest calls, for runtimes that report ops but not launches. A call that launches nothing
// leaves an entry that a later call overwrites.
constexpr uint64_t kRecent = 8192;
rocm::Launch g_recent[kRecent];

rocm::Launch& recent(uint64_t correlation) {
  return g_recent[(correlation ^ correlation >> 40) % kRecent];
}

}  // namespace

void remember_launch(const rocm::Launch& launch) {
  pthread_mutex_lock(&g_lock);
  recent(launch.correlation) = launch;
  pthread_mutex_unlock(&g_lock);
}

rocm::Launch launch_of(uint64_t correlation) {
  rocm::Launch launch = {};
  pthread_mutex_lock(&g_lock);
  if (recent(correlation).correlation == correlation) launch = recent(correlation);
  pthread_mutex_unlock(&g_lock);
  launch.correlation = correlation;
  return launch;
}

void launched(uint64_t record_id) {
  if (!rocm::recording()) return;
  pthread_mutex_lock(&g_lock);
  Launched* entry = g_free.take();
  if (entry != nullptr) {
    Launched*& bucket = g_buckets[record_id % kBuckets];
    *entry = {bucket, record_id, rocm::t_launch};
    bucket = entry;
  }
  pthread_mutex_unlock(&g_lock);
}

void record_op(const ActivityRecord& record, uint32_t name, const rocm::Launch& launch) {
  const uint32_t kind = op_kind(record);
  if (kind == SONDE_OP_BARRIER || !rocm::recording()) return;
  struct sonde_op op = {};
  op.kind = kind;
  op.name = kind == SONDE_OP_KERNEL ? name : 0;
  pthread_mutex_lock(&g_lock);
  op.queue = queue_id(record.device, record.queue);
  pthread_mutex_unlock(&g_lock);
  op.clock = SONDE_CLOCK_BOOTTIME;
  op.correlation = launch.correlation;
  op.stream = launch.stream;
  op.flags = launch.flags;
  op.start = record.begin_ns;
  op.end = record.end_ns;
  if (kind != SONDE_OP_KERNEL) op.bytes = record.bytes;
  agent().op(&op);
}

void finished(uint32_t, void* data, void*) {
  ActivityRecord record;
  memcpy(&record, data, sizeof record);
  pthread_mutex_lock(&g_lock);
  const Launched launch = take(record.correlation);
  pthread_mutex_unlock(&g_lock);
  record_op(record, launch.launch.name, launch.launch);
}

}  // namespace sonde::hip
