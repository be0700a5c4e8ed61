// Devices as the agent knows them, and which clock their timestamps are in. Used by queues.cpp and
// pending.cpp. A Device is made with the first queue on it and never freed.
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
  std::atomic<bool> brackets;      // its clock is set by the times of the host around an enqueue
  bool timer;                      // its clock is set by clGetDeviceAndHostTimer
  std::atomic<uint64_t> snapshot;  // time of the last snapshot, by its own clock
  uint64_t narrowest;              // ticks of the narrowest bracket when the clock was found
};

// `queue` is a queue of the device that has nothing enqueued: short-lived markers on it tell the
// clock. NULL where there is none; then the clock is taken for one of the device's own.
Device* find_device(cl_device_id handle, cl_command_queue queue);

// Finds the clock of `device` (clocks.cpp); before it is defined to the agent.
void find_clock(Device* device, cl_command_queue queue, const char* device_name);

// Relates the device's clock to the agent's, at most every 100 ms. `queued` was read by the device
// between the ticks `before` and `after` (0: not known); `now` is the newest time known of it.
void snapshot_clock(Device* device, uint64_t now, uint64_t queued, uint64_t before, uint64_t after);

// In a forked child: another thread of the parent may have held a lock.
void reset_device_locks();

}  // namespace sonde::opencl
