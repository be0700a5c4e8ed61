#include "backends/cpu/perf_event.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/memory_calls.h"
#include "agent/platform.h"

namespace sonde::cpu {

namespace {

int open_disabled(uint64_t period_ns) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = period_ns;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.wakeup_events = 1;
  attributes.disabled = 1;
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

uint64_t page_bytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

bool events_work(uint64_t period_ns) {
  const int fd = open_disabled(period_ns);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

Event open_event(uint64_t period_ns, int signal) {
  const int fd = open_disabled(period_ns);
  if (fd < 0) return {};
  const f_owner_ex owner = {F_OWNER_TID, static_cast<pid_t>(syscall(SYS_gettid))};
  void* page = kernel::map(nullptr, page_bytes(), PROT_READ, MAP_SHARED, fd, 0);
  Event event;
  if (page != MAP_FAILED) {
    if (fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, signal) == 0 &&
        fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 &&
        syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0) == 0) {
      event = {page, fd, period_ns};
    } else {
      kernel::unmap(page, page_bytes());
    }
  }
  close(fd);
  return event;
}

void close_event(Event& event) {
  if (event.page != nullptr) kernel::unmap(event.page, page_bytes());
  event.page = nullptr;
}

void close_event_of_another(Event& event) {
  if (event.page != nullptr) {
    kernel::map(event.page, page_bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0);
  }
  event.page = nullptr;
}

uint32_t turn_of(const void* page) {
  return agent::load(static_cast<const perf_event_mmap_page*>(page)->lock);
}

}  // namespace sonde::cpu
