// What the system lets this user do that a recording can use. For `sonde doctor`.
#pragma once

#include <string>
#include <vector>

#include "monitor/source.h"

namespace sonde::monitor {

struct Permission {
  const char* key;
  const char* name;
  std::string state;  // "yes", or why not, what is lost, and how to allow it
};

std::vector<Permission> permissions(const Roots& roots);
// 0 if a thread's CPU time can be asked for by perf events, else errno.
int perf_events_error();

}  // namespace sonde::monitor
