// How the recorder loads the CPU sampler: preloaded, so that it sees threads start.
#include "monitor/permissions.h"
#include "record/backend.h"

namespace sonde::record {

namespace {

Probe probe() {
#ifndef __x86_64__
  return {false, "call stacks can be taken on x86-64 only"};
#else
  if (monitor::perf_events_error() != 0) {
    return {true,
            "timers of CPU time, up to the rate of the kernel's clock; perf events, for more, are "
            "not permitted (sysctl kernel.perf_event_paranoid=2 allows them)"};
  }
  return {true, "timers of CPU time, and perf events for higher rates"};
#endif
}

}  // namespace

Backend cpu_backend() {
  return {"cpu", "call stacks of running threads, by sampling", "libsonde-agent.so", {}, probe};
}

}  // namespace sonde::record
