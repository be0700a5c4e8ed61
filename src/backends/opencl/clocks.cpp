// Finds the clock of a device's timestamps, and how it relates to the agent's.
//
// A marker is enqueued between two readings of each host clock. For the clock that the runtime
// uses, its QUEUED time lies between the two. If it fits none, the device has a clock of its own,
// which is related to the agent's by clGetDeviceAndHostTimer, if that works and uses the same
// clock, else by host times around enqueues.
#include <stdio.h>
#include <time.h>

#include "backends/opencl/devices.h"
#include "base/time.h"
#include "base/uncancelled.h"

namespace sonde::opencl {
namespace {

struct HostClock {
  clockid_t id;
  uint32_t clock;
};

// In order of preference: clocks that cannot be distinguished here run at the same rate. BOOTTIME
// equals MONOTONIC until the machine suspends.
constexpr HostClock kHostClocks[] = {{CLOCK_MONOTONIC, SONDE_CLOCK_MONOTONIC},
                                     {CLOCK_MONOTONIC_RAW, SONDE_CLOCK_MONOTONIC_RAW},
                                     {CLOCK_REALTIME, SONDE_CLOCK_REALTIME},
                                     {CLOCK_BOOTTIME, SONDE_CLOCK_BOOTTIME}};
constexpr size_t kClocks = sizeof kHostClocks / sizeof kHostClocks[0];
constexpr int kMarkers = 8;
constexpr uint64_t kToleranceNs = 2000;        // for a runtime that rounds to microseconds
constexpr uint64_t kSnapshotNs = 100'000'000;  // between two snapshots
// A bracket is wide if it exceeds the narrowest one by this factor.
constexpr uint64_t kWide = 8;
constexpr uint64_t kDrift = 10'000;             // clocks drift by at most one part in this many
constexpr uint64_t kMarkerWaitNs = 50'000'000;  // for all markers together

uint64_t read_clock(clockid_t id) { return static_cast<uint64_t>(clock_ns(id)); }

struct Probe {
  uint64_t before[kClocks], after[kClocks];
  uint64_t ticks_before, ticks_after;
  uint64_t queued;
};

// False if the event did not finish in time or has no times.
bool wait_for_queued(cl_event event, uint64_t deadline, uint64_t* queued) {
  for (;;) {
    cl_int status = CL_QUEUED;
    if (next().clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                              nullptr) != CL_SUCCESS) {
      return false;
    }
    if (status <= CL_COMPLETE) break;
    if (read_clock(CLOCK_MONOTONIC) > deadline) return false;
    const timespec pause = {0, 20'000};
    sleep_uncancelled(pause);
  }
  return next().clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof *queued, queued,
                                        nullptr) == CL_SUCCESS &&
         *queued != 0;
}

bool run_marker(cl_command_queue queue, uint64_t deadline, Probe* probe) {
  cl_event event = nullptr;
  for (size_t i = 0; i < kClocks; ++i) probe->before[i] = read_clock(kHostClocks[i].id);
  probe->ticks_before = agent().ticks();
  const cl_int code = next().clEnqueueMarkerWithWaitList != nullptr
                          ? next().clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event)
                          : next().clEnqueueMarker(queue, &event);
  probe->ticks_after = agent().ticks();
  for (size_t i = 0; i < kClocks; ++i) probe->after[i] = read_clock(kHostClocks[i].id);
  if (code != CL_SUCCESS || event == nullptr) return false;
  next().clFlush(queue);
  const bool good = wait_for_queued(event, deadline, &probe->queued);
  next().clReleaseEvent(event);
  return good;
}

unsigned fitting_clocks(const Probe& probe) {
  unsigned fitting = 0;
  for (size_t i = 0; i < kClocks; ++i) {
    if (probe.queued + kToleranceNs >= probe.before[i] &&
        probe.queued <= probe.after[i] + kToleranceNs) {
      fitting |= 1u << i;
    }
  }
  return fitting;
}

bool read_timer(const Device* device, uint64_t* value) {
  cl_ulong device_time = 0, host_time = 0;
  if (next().clGetDeviceAndHostTimer == nullptr ||
      next().clGetDeviceAndHostTimer(device->handle, &device_time, &host_time) != CL_SUCCESS) {
    return false;
  }
  *value = device_time;
  return device_time != 0;
}

// Whether the device timer uses the clock of event timestamps.
bool timer_fits(const Device* device, cl_command_queue queue, uint64_t deadline) {
  uint64_t before = 0, after = 0;
  Probe probe;
  return read_timer(device, &before) && run_marker(queue, deadline, &probe) &&
         read_timer(device, &after) && before <= probe.queued && probe.queued <= after;
}

void define_own_clock(Device* device, cl_command_queue queue, uint64_t deadline, const Probe* best,
                      const char* device_name) {
  char name[300];
  snprintf(name, sizeof name, "opencl %s", device_name);
  device->clock.store(agent().define_clock(name));
  device->timer = queue != nullptr && timer_fits(device, queue, deadline);
  device->brackets.store(!device->timer);
  if (device->timer) {
    snapshot_clock(device, 0, 0, 0, 0);
  } else if (best != nullptr) {
    device->narrowest = best->ticks_after - best->ticks_before;
    snapshot_clock(device, best->queued, best->queued, best->ticks_before, best->ticks_after);
  }
}

}  // namespace

void find_clock(Device* device, cl_command_queue queue, const char* device_name) {
  const uint64_t deadline = read_clock(CLOCK_MONOTONIC) + kMarkerWaitNs;
  unsigned fitting = (1u << kClocks) - 1;
  Probe best = {};
  bool any = false;
  for (int i = 0; queue != nullptr && i < kMarkers; ++i) {
    Probe probe;
    if (!run_marker(queue, deadline, &probe)) break;
    fitting &= fitting_clocks(probe);
    const uint64_t width = probe.ticks_after - probe.ticks_before;
    if (!any || width < best.ticks_after - best.ticks_before) best = probe;
    any = true;
  }
  if (!any || fitting == 0) {
    define_own_clock(device, queue, deadline, any ? &best : nullptr, device_name);
    return;
  }
  size_t chosen = 0;
  while ((fitting & (1u << chosen)) == 0) ++chosen;
  device->clock.store(kHostClocks[chosen].clock);
  snapshot_clock(device, best.queued, 0, 0, 0);
}

void snapshot_clock(Device* device, uint64_t now, uint64_t queued, uint64_t before,
                    uint64_t after) {
  uint64_t last = device->snapshot.load(std::memory_order_relaxed);
  if (last != 0 && now < last + kSnapshotNs) return;
  if (device->brackets.load(std::memory_order_relaxed)) {
    // An enqueue may compile the kernel or wait for the command (a blocking copy waited 0.3 s).
    // Such a wide bracket is less accurate than the previous snapshot, until the clock may have
    // drifted by that much. (Ticks are at most a nanosecond long, so the drift is not
    // overestimated.)
    const uint64_t width = after - before;
    const bool wide = width > kWide * device->narrowest && width > (now - last) / kDrift;
    if (before == 0 || (wide && last != 0)) return;
  }
  if (!device->snapshot.compare_exchange_strong(last, now != 0 ? now : 1)) return;
  const uint32_t clock = device->clock.load(std::memory_order_relaxed);
  if (device->brackets.load(std::memory_order_relaxed)) {
    agent().clock_snapshot(clock, queued, before, after);
    return;
  }
  uint64_t value = 0;
  const uint64_t earlier = agent().ticks();
  if (device->timer) {
    if (!read_timer(device, &value)) return;
  } else {
    for (const HostClock& host : kHostClocks) {
      if (host.clock == clock) value = read_clock(host.id);
    }
  }
  agent().clock_snapshot(clock, value, earlier, agent().ticks());
}

}  // namespace sonde::opencl
