// The runtime's agents, defined to Sonde's agent once when the runtime starts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/rocm/hsa/runtime.h"

namespace sonde::hsa {
namespace {

constexpr uint32_t kMaxDevices = 64;
Device g_devices[kMaxDevices];
uint32_t g_device_count;
int16_t g_gpu_count;

constexpr uint32_t kMaxPools = 256;
struct KnownPool {
  uint64_t handle;
  int16_t gpu_id;
};
KnownPool g_pools[kMaxPools];  // of GPUs
uint32_t g_pool_count;

// For finding the memory size of a GPU.
struct PoolVisit {
  int16_t gpu_id;
  uint64_t total;
};

void get(AgentHandle handle, uint32_t attribute, void* value) {
  next().agent_get_info(handle, attribute, value);
}

Status add_pool(Pool pool, void* data) {
  uint32_t segment = 1;
  size_t size = 0;
  next().memory_pool_get_info(pool, kPoolSegment, &segment);
  next().memory_pool_get_info(pool, kPoolSize, &size);
  auto* visit = static_cast<PoolVisit*>(data);
  if (g_pool_count < kMaxPools) g_pools[g_pool_count++] = {pool.handle, visit->gpu_id};
  // Several pools (fine and coarse grained) may share the same memory.
  if (segment == 0 && size > visit->total) visit->total = size;
  return kSuccess;
}

void describe(Device* device) {
  char name[65] = {}, vendor[65] = {}, product[65] = {}, location[32];
  uint32_t bdf = 0, domain = 0, units = 0, clock_mhz = 0;
  PoolVisit visit = {device->gpu_id, 0};
  get(device->handle, kAgentName, name);
  get(device->handle, kAgentVendor, vendor);
  get(device->handle, kAgentProduct, product);
  get(device->handle, kAgentBdf, &bdf);
  get(device->handle, kAgentDomain, &domain);
  get(device->handle, kAgentComputeUnits, &units);
  get(device->handle, kAgentMaxClockMhz, &clock_mhz);
  next().agent_iterate_memory_pools(device->handle, add_pool, &visit);
  snprintf(location, sizeof location, "%04x:%02x:%02x.%x", domain, (bdf >> 8) & 0xff,
           (bdf >> 3) & 0x1f, bdf & 7);
  char full_name[140];
  if (product[0] != '\0' && strcmp(product, name) != 0) {
    snprintf(full_name, sizeof full_name, "%s (%s)", product, name);
  } else {
    snprintf(full_name, sizeof full_name, "%s", name);
  }
  if (strncmp(name, "gfx", 3) == 0) {
    const size_t length = strlen(name);  // gfx90a: the last two digits are minor and stepping
    device->gfx_major = length > 5 ? strtoul(name + 3, nullptr, 10) : 0;
    if (length == 6) device->gfx_major = static_cast<uint32_t>(name[3] - '0');
    if (length == 7)
      device->gfx_major = static_cast<uint32_t>((name[3] - '0') * 10 + name[4] - '0');
    device->big_registers = strncmp(name, "gfx90a", 6) == 0 || strncmp(name, "gfx94", 5) == 0 ||
                            strncmp(name, "gfx95", 5) == 0;
  }
  snprintf(device->architecture, sizeof device->architecture, "%.15s", name);
  struct sonde_device definition = {};
  definition.gpu_id = static_cast<uint32_t>(device->gpu_id);
  definition.clock = g_clock;
  definition.backend = kSource;
  definition.name = full_name;
  definition.vendor = vendor;
  definition.driver = "amdgpu";
  definition.kind = "gpu";
  definition.location = location;
  definition.memory_bytes = visit.total;
  definition.compute_units = units;
  definition.clock_mhz = clock_mhz;
  device->id = agent().define_device(&definition);
  // Copies run on engines that are not queues of the program: one lane per direction.
  for (uint32_t i = 0; i < kCopyQueues; ++i) {
    struct sonde_queue queue = {};
    queue.device = device->id;
    queue.handle = i + 1;
    device->copy_queue[i] = agent().define_queue(&queue);
  }
}

Status add_device(AgentHandle handle, void*) {
  if (g_device_count == kMaxDevices) return kSuccess;
  Device* device = &g_devices[g_device_count];
  *device = {};
  device->handle = handle;
  uint32_t type = 0;
  get(handle, kAgentDevice, &type);
  device->is_gpu = type == 1;
  device->gpu_id = -1;
  if (device->is_gpu) {
    device->gpu_id = g_gpu_count++;
    describe(device);
  }
  ++g_device_count;
  return kSuccess;
}

}  // namespace

void find_devices() {
  g_device_count = 0;
  g_gpu_count = 0;
  g_pool_count = 0;
  next().iterate_agents(add_device, nullptr);
}

const Device* host_device() {
  for (uint32_t i = 0; i < g_device_count; ++i) {
    if (!g_devices[i].is_gpu) return &g_devices[i];
  }
  return nullptr;
}

int gpu_count() { return g_gpu_count; }

const char* architecture_of(int gpu) {
  for (uint32_t i = 0; i < g_device_count; ++i) {
    if (g_devices[i].is_gpu && g_devices[i].gpu_id == gpu) return g_devices[i].architecture;
  }
  return "";
}

int gpu_of_pool(Pool pool) {
  for (uint32_t i = 0; i < g_pool_count; ++i) {
    if (g_pools[i].handle == pool.handle) return g_pools[i].gpu_id;
  }
  return -1;
}

const Device* device_of_pool(Pool pool) {
  const int gpu = gpu_of_pool(pool);
  for (uint32_t i = 0; gpu >= 0 && i < g_device_count; ++i) {
    if (g_devices[i].gpu_id == gpu) return &g_devices[i];
  }
  return nullptr;
}

const Device* device_of(AgentHandle handle) {
  for (uint32_t i = 0; i < g_device_count; ++i) {
    if (g_devices[i].handle.handle == handle.handle) return &g_devices[i];
  }
  return nullptr;
}

}  // namespace sonde::hsa
