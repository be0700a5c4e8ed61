// How the recorder loads the HIP backend: with the HSA one, which HIP starts in its first call.
#include "record/rocm_probe.h"

namespace sonde::record {

const Backend& hip_backend() {
  static const Backend kBackend = {
      "hip",
      "HIP calls with their arguments (ROCm)",
      "libsonde-rocm.so",
      {"LD_PRELOAD+={lib}/libsonde-rocm.so", "HSA_TOOLS_LIB~={lib}/libsonde-rocm.so",
       "SONDE_REGISTER_NEXT?={env:ROCPROFILER_REGISTER_LIBRARY}",
       "ROCPROFILER_REGISTER_LIBRARY={lib}/libsonde-rocm.so", "SONDE_ROCM+=hip"},
      hip_probe};
  return kBackend;
}

}  // namespace sonde::record
