#include "monitor/probe.h"

#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/time.h"

namespace sonde::monitor {

Availability probe(const Roots& roots) {
  Availability found;
  Settings settings;
  settings.metrics.set();
  settings.hz = 100;
  settings.roots = roots;
  Sampler sampler(
      settings, [&](const Reading& reading) { found.there.set(static_cast<size_t>(reading.id)); });
  const int64_t own[] = {::getpid()};
  // Rates have a value at the second tick, if the kernel's counters have moved by then.
  for (int tick = 0; tick < 3; ++tick) {
    sampler.tick(monotonic_now_ns(), own);
    const timespec pause = {0, 30'000'000};
    ::nanosleep(&pause, nullptr);
  }
  sampler.flush();
  found.missing = sampler.missing();
  // That a vendor's driver is not there is no news where the GPUs are another's.
  if (found.there.test(static_cast<size_t>(Id::kGpuBusy))) {
    std::erase_if(found.missing, [&](const Missing& missing) {
      return missing.group == "gpu" &&
             (missing.what == roots.sys + "/class/drm" || missing.what == settings.nvml);
    });
  }
  found.names = sampler.names();
  return found;
}

namespace {

// What is not there at all: a container hides it, or its driver is not loaded.
std::string how_to_mount(const Missing& missing) {
  constexpr std::string_view kCards = "/class/drm";
  if (missing.group == "gpu") {
    const std::string& what = missing.what;
    const bool all = what.size() > kCards.size() &&
                     what.compare(what.size() - kCards.size(), kCards.size(), kCards) == 0;
    return all ? "load the GPU's driver; in a container, mount the host's /sys or name it with "
                 "--sys-root"
               : "";
  }
  if (missing.group == "power") return "";
  return "in a container, mount /proc or name the host's with --proc-root";
}

}  // namespace

std::string how_to_allow(const Missing& missing) {
  const std::string& what = missing.what;
  if (missing.error_number == ENOENT) return how_to_mount(missing);
  if (!missing.is_denied()) return "";
  if (missing.group == "power") {
    return "only root may read it: as root, chmod a+r " + what;
  }
  if (missing.group == "gpu" && what.rfind("NVML", 0) == 0) {
    return "allow the user to use the device files /dev/nvidia*";
  }
  if (missing.group == "process") {
    return "processes of another user or with other capabilities show it to root and CAP_SYS_PTRACE only";
  }
  return "let this user read " + what;
}

}  // namespace sonde::monitor
