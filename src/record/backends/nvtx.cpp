// How the recorder loads the NVTX backend: by the injection variable of NVTX v3.
#include "record/backend.h"

namespace sonde::record {

const Backend& nvtx_backend() {
  static const Backend kBackend = {
      "nvtx",
      "NVTX v3 ranges and marks",
      "libsonde-nvtx.so",
      {"NVTX_INJECTION64_PATH?={lib}/libsonde-nvtx.so"},
      [] {
        return Probe{true, "NVTX v3 is part of the program; nothing else is needed"};
      }};
  return kBackend;
}

}  // namespace sonde::record
