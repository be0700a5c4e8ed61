// How the recorder loads the HSA backend: as a tool of the HSA runtime.
#include "record/rocm_probe.h"

namespace sonde::record {

Backend hsa_backend() {
  return {"hsa",
          "kernels, copies and code objects of AMD GPUs (ROCm)",
          "libsonde-agent.so",
          {"HSA_TOOLS_LIB~={lib}/libsonde-hsa-tool.so",
           "SONDE_REGISTER_NEXT?={env:ROCPROFILER_REGISTER_LIBRARY}",
           "ROCPROFILER_REGISTER_LIBRARY={lib}/libsonde-agent.so", "SONDE_ROCM+=hsa"},
          rocm_probe};
}

}  // namespace sonde::record
