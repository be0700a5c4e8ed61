// Devices as defined to the agent, and the clock of their timestamps. Used by queues.cpp and
// pending.cpp. A Device is created with its first queue and never freed.
#pragma once

#include <atomic>

#include "backends/opencl/layer.h"

namespace sonde::opencl {

struct Device {
  Device* next;
  cl_device_id handle;
  uint32_t id;  // of define_device()
  uint32_t gpu_id;
  std::atomic<uint32_t> clock;     // of its timestamps
  std::atomic<bool> brackets;      // its clock is related by host times around an enqueue
  bool timer;                      // its clock is related by clGetDeviceAndHostTimer
  std::atomic<uint64_t> snapshot;  // device time of the last snapshot
  uint64_t narrowest;              // ticks of the narrowest bracket when the clock was found
};

// `queue` is an empty queue of the device: short-lived markers on it identify the clock. If NULL,
// the device is assumed to have a clock of its own.
Device* find_device(cl_device_id handle, cl_command_queue queue);

// Identifies the clock of `device` (clocks.cpp); called before the device is defined to the agent.
void find_clock(Device* device, cl_command_queue queue, const char* device_name);

// Relates the device's clock to the agent's, at most every 100 ms. The device stamped `queued`
// between the ticks `before` and `after` (0: unknown); `now` is its newest known time.
void snapshot_clock(Device* device, uint64_t now, uint64_t queued, uint64_t before, uint64_t after);

// In a forked child: another thread of the parent may have held a lock.
void reset_device_locks();

}  // namespace sonde::opencl
