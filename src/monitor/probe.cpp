#include "monitor/probe.h"

#include <time.h>
#include <unistd.h>

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
  found.names = sampler.names();
  return found;
}

std::string how_to_allow(const Missing& missing) {
  const std::string& what = missing.what;
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
