#include "backends/opencl/devices.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace sonde::opencl {
namespace {

// Vendors' queries for the PCI address, from their public headers.
constexpr cl_device_info kPciBusInfoKhr = 0x410F;
constexpr cl_device_info kTopologyAmd = 0x4037;
constexpr cl_device_info kPciBusNv = 0x4008;
constexpr cl_device_info kPciSlotNv = 0x4009;
constexpr cl_device_info kPciDomainNv = 0x400A;

constexpr cl_uint kMaxPlatformDevices = 64;
constexpr size_t kMaxPlatforms = 16;

struct Platform {
  cl_platform_id handle;
  uint32_t first_gpu;  // number of its first device
};

std::atomic<Device*> g_devices;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Platform g_platforms[kMaxPlatforms];
size_t g_platform_count;
uint32_t g_gpu_count;

template <typename T>
bool get(cl_device_id device, cl_device_info param, T* value) {
  size_t size = 0;
  return next().clGetDeviceInfo(device, param, sizeof(T), value, &size) == CL_SUCCESS &&
         size == sizeof(T);
}

void get_text(cl_device_id device, cl_device_info param, char* text, size_t room) {
  size_t size = 0;
  text[0] = '\0';
  if (next().clGetDeviceInfo(device, param, 0, nullptr, &size) != CL_SUCCESS || size == 0) return;
  if (size <= room) {
    if (next().clGetDeviceInfo(device, param, room, text, nullptr) != CL_SUCCESS) text[0] = '\0';
  } else if (char* whole = static_cast<char*>(malloc(size))) {
    if (next().clGetDeviceInfo(device, param, size, whole, nullptr) == CL_SUCCESS) {
      memcpy(text, whole, room);
    }
    free(whole);
  }
  text[room - 1] = '\0';
}

void get_location(cl_device_id device, char* text, size_t room) {
  struct {
    cl_uint domain, bus, device, function;
  } khr;
  struct {
    cl_uint type;
    cl_char unused[17];
    cl_char bus, device, function;
  } amd;
  cl_uint bus, slot, domain = 0;
  text[0] = '\0';
  if (get(device, kPciBusInfoKhr, &khr)) {
    snprintf(text, room, "%04x:%02x:%02x.%x", khr.domain, khr.bus, khr.device, khr.function);
  } else if (get(device, kTopologyAmd, &amd) && amd.type == 1) {
    snprintf(text, room, "0000:%02x:%02x.%x", static_cast<unsigned char>(amd.bus),
             static_cast<unsigned char>(amd.device), static_cast<unsigned char>(amd.function));
  } else if (get(device, kPciBusNv, &bus) && get(device, kPciSlotNv, &slot)) {
    get(device, kPciDomainNv, &domain);
    snprintf(text, room, "%04x:%02x:%02x.%x", domain, bus, slot >> 3, slot & 7);
  }
}

// The number of a device: its index in its platform's list, which is the same in every process,
// after the devices of the platforms that were used earlier. A sub-device has its device's number.
uint32_t number_of(cl_device_id device) {
  cl_device_id parent = nullptr;
  while (get(device, CL_DEVICE_PARENT_DEVICE, &parent) && parent != nullptr) device = parent;
  cl_platform_id platform = nullptr;
  cl_device_id all[kMaxPlatformDevices];
  cl_uint count = 0;
  if (!get(device, CL_DEVICE_PLATFORM, &platform) ||
      next().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, kMaxPlatformDevices, all, &count) !=
          CL_SUCCESS) {
    return g_gpu_count++;
  }
  if (count > kMaxPlatformDevices) count = kMaxPlatformDevices;
  size_t at = 0;
  while (at < g_platform_count && g_platforms[at].handle != platform) ++at;
  if (at == kMaxPlatforms) return g_gpu_count++;
  if (at == g_platform_count) {
    g_platforms[g_platform_count++] = {platform, g_gpu_count};
    g_gpu_count += count;
  }
  for (cl_uint i = 0; i < count; ++i) {
    if (all[i] == device) return g_platforms[at].first_gpu + i;
  }
  return g_gpu_count++;
}

const char* kind_of(cl_device_id handle) {
  cl_device_type type = 0;
  get(handle, CL_DEVICE_TYPE, &type);
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return "gpu";
  return (type & CL_DEVICE_TYPE_CPU) != 0 ? "cpu" : "accelerator";
}

void define(Device* device, cl_command_queue queue) {
  char name[256], vendor[256], driver[128], location[64];
  get_text(device->handle, CL_DEVICE_NAME, name, sizeof name);
  get_text(device->handle, CL_DEVICE_VENDOR, vendor, sizeof vendor);
  get_text(device->handle, CL_DRIVER_VERSION, driver, sizeof driver);
  get_location(device->handle, location, sizeof location);
  find_clock(device, queue, name);
  cl_ulong memory = 0;
  cl_uint units = 0, frequency = 0;
  get(device->handle, CL_DEVICE_GLOBAL_MEM_SIZE, &memory);
  get(device->handle, CL_DEVICE_MAX_COMPUTE_UNITS, &units);
  get(device->handle, CL_DEVICE_MAX_CLOCK_FREQUENCY, &frequency);
  device->gpu_id = number_of(device->handle);
  struct sonde_device definition = {};
  definition.gpu_id = device->gpu_id;
  definition.clock = device->clock.load();
  definition.backend = "opencl";
  definition.name = name;
  definition.vendor = vendor;
  definition.driver = driver;
  definition.kind = kind_of(device->handle);
  definition.location = location;
  definition.memory_bytes = memory;
  definition.compute_units = units;
  definition.clock_mhz = frequency;
  device->id = agent().define_device(&definition);
}

}  // namespace

void reset_device_locks() { g_lock = PTHREAD_MUTEX_INITIALIZER; }

Device* find_device(cl_device_id handle, cl_command_queue queue) {
  pthread_mutex_lock(&g_lock);
  Device* device = g_devices.load(std::memory_order_relaxed);
  while (device != nullptr && device->handle != handle) device = device->next;
  if (device == nullptr) {
    device = static_cast<Device*>(calloc(1, sizeof(Device)));
    if (device != nullptr) {
      device->handle = handle;
      define(device, queue);
      device->next = g_devices.load(std::memory_order_relaxed);
      g_devices.store(device, std::memory_order_release);
    }
  }
  pthread_mutex_unlock(&g_lock);
  return device;
}

}  // namespace sonde::opencl
