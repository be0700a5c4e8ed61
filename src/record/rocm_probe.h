// What the HSA and HIP backends find on this machine, for `sonde doctor`. Part of the tool, not of
// the library.
#pragma once

#include <unistd.h>

#include "record/backend.h"

namespace sonde::record {

inline Probe rocm_probe_of(std::span<const char* const> names, const char* what) {
  std::string library;
  if (!find_library(names, &library)) return {false, what};
  if (::access("/dev/kfd", F_OK) != 0) {
    return {false, library + ", but no AMD GPU: there is no /dev/kfd (driver amdgpu)"};
  }
  if (::access("/dev/kfd", R_OK | W_OK) != 0) {
    return {false, library + ", but /dev/kfd may not be opened; add yourself to group render"};
  }
  return {true, library};
}

inline Probe rocm_probe() {
  static constexpr const char* kNames[] = {"libhsa-runtime64.so.1",
                                           "/opt/rocm/lib/libhsa-runtime64.so.1"};
  return rocm_probe_of(kNames,
                       "no HSA runtime (libhsa-runtime64.so.1); Debian: libhsa-runtime64-1");
}

inline Probe hip_probe() {
  static constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                           "libamdhip64.so.5", "/opt/rocm/lib/libamdhip64.so"};
  return rocm_probe_of(kNames, "no HIP runtime (libamdhip64.so); Debian: libamdhip64-5");
}

}  // namespace sonde::record
