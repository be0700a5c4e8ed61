// How the recorder loads the HIP backend: with the HSA one, since HIP starts HSA in its first call.
#include "record/rocm_probe.h"

namespace sonde::record {

Backend hip_backend() {
  return {"hip",
          "HIP calls with their arguments (ROCm)",
          "libsonde-agent.so",
          {"HSA_TOOLS_LIB~={lib}/libsonde-hsa-tool.so",
           "SONDE_REGISTER_NEXT?={env:ROCPROFILER_REGISTER_LIBRARY}",
           "ROCPROFILER_REGISTER_LIBRARY={lib}/libsonde-agent.so", "SONDE_ROCM+=hip"},
          hip_probe};
}

}  // namespace sonde::record
