// How the recorder loads the CPU sampler: preloaded, so that it sees threads start.
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/backend.h"

namespace sonde::record {

namespace {

Probe probe() {
#ifndef __x86_64__
  return {false, "call stacks can be taken on x86-64 only"};
#else
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  const long fd = ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) {
    return {true,
            "timers of CPU time, up to the rate of the kernel's clock; perf events, for more, are "
            "not permitted (sysctl kernel.perf_event_paranoid=2 allows them)"};
  }
  ::close(static_cast<int>(fd));
  return {true, "timers of CPU time, and perf events for higher rates"};
#endif
}

}  // namespace

Backend cpu_backend() {
  return {"cpu", "call stacks of running threads, by sampling", "libsonde-agent.so", {}, probe};
}

}  // namespace sonde::record
