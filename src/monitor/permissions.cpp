#include "monitor/permissions.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "base/unique_fd.h"
#include "monitor/kept_file.h"

namespace sonde::monitor {

namespace {

std::string denied(int error, const std::string& lost, const std::string& how) {
  return std::string("no: ") + std::strerror(error) + "; " + lost + " (" + how + ")";
}

std::string perf_events(const Roots& roots) {
  const int error = perf_events_error();
  if (error == 0) return "yes";
  const std::string level =
      read_file(roots.proc + "/sys/kernel/perf_event_paranoid").value_or("unknown");
  return denied(error, "call stacks are sampled by timers, no faster than the kernel's clock ticks",
                "sysctl kernel.perf_event_paranoid=2, which is " + std::string(trim(level)) +
                    " here; in a container, allow perf_event_open in its seccomp profile");
}

std::string process_descriptors() {
  const UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (fd.valid()) return "yes";
  return denied(errno, "the end of a process is found by its number",
                "Linux 5.3; in a container, allow pidfd_open in its seccomp profile");
}

std::string own_memory() {
  int value = 1, copy = 0;
  iovec local = {&copy, sizeof copy}, remote = {&value, sizeof value};
  if (::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == sizeof copy) return "yes";
  return denied(errno, "call stacks end where they leave the thread's own stack",
                "in a container, allow process_vm_readv in its seccomp profile");
}

std::string other_processes(const Roots& roots) {
  const auto scope = read_file(roots.proc + "/sys/kernel/yama/ptrace_scope");
  int error = 0;
  const auto io = read_file(roots.proc + "/self/io", &error);
  if (!io) {
    return denied(error, "bytes read and written are not known",
                  error == ENOENT ? "mount /proc" : "mount /proc without hidepid, or run as root");
  }
  if (scope && trim(*scope) == "3") {
    return "no: ptrace_scope is 3; what other programs' /proc files show is limited (sysctl "
           "kernel.yama.ptrace_scope=1, after a restart)";
  }
  return "yes";
}

}  // namespace

int perf_events_error() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  const UniqueFd fd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  return fd.valid() ? 0 : errno;
}

std::vector<Permission> permissions(const Roots& roots) {
  return {{"perf_events", "Perf events", perf_events(roots)},
          {"process_descriptors", "Process descriptors", process_descriptors()},
          {"own_memory", "Reading memory by system calls", own_memory()},
          {"processes", "Reading /proc of traced programs", other_processes(roots)}};
}

}  // namespace sonde::monitor
