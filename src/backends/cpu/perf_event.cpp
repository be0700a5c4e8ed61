#include "backends/cpu/perf_event.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// Far away from the numbers that the program gets for its own files.
int moved_away(int fd) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const uint64_t most = limit.rlim_cur < 65536 ? limit.rlim_cur : 65536;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(most / 4 * 3));
  close(fd);
  return moved;
}

}  // namespace

bool events_work(uint64_t period_ns) {
  const int fd = open_disabled(period_ns);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

int open_event(uint64_t period_ns, int signal) {
  int fd = open_disabled(period_ns);
  if (fd >= 0) fd = moved_away(fd);
  if (fd < 0) return -1;
  const f_owner_ex owner = {F_OWNER_TID, static_cast<pid_t>(syscall(SYS_gettid))};
  if (fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_SETSIG, signal) == 0 &&
      fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 &&
      syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

bool set_period(int event, uint64_t period_ns) {
  return syscall(SYS_ioctl, event, PERF_EVENT_IOC_PERIOD, &period_ns) == 0;
}

void close_event(int event, int signal) {
  if (fcntl(event, F_GETSIG) == signal) close(event);
}

}  // namespace sonde::cpu
