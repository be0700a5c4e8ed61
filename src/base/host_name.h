// The name of this machine.
#pragma once

#include <unistd.h>

#include <string>

namespace sonde {

// "" if the system has none, or one that is too long.
inline std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace sonde
