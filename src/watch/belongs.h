// What a process belongs to: a job and a rank of it, a container. From its control groups, which
// everybody may read, and its environment, which only its own user may. Used by Processes.
#pragma once

#include <string>
#include <string_view>

namespace sonde::watch {

struct Belongs {
  std::string job, step, rank, container;
};

// `cgroup` is the text of /proc/PID/cgroup, `environ` that of /proc/PID/environ.
Belongs belongs_of(std::string_view cgroup, std::string_view environ);

}  // namespace sonde::watch
