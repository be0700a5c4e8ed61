// How the recorder loads the HSA backend: as a tool of the HSA runtime.
#include "record/rocm_probe.h"

namespace sonde::record {

const Backend& hsa_backend() {
  static const Backend kBackend = {
      "hsa",
      "kernels, copies and code objects of AMD GPUs (ROCm)",
      "libsonde-rocm.so",
      {"HSA_TOOLS_LIB~={lib}/libsonde-rocm.so",
       "SONDE_REGISTER_NEXT?={env:ROCPROFILER_REGISTER_LIBRARY}",
       "ROCPROFILER_REGISTER_LIBRARY={lib}/libsonde-rocm.so", "SONDE_ROCM+=hsa"},
      rocm_probe};
  return kBackend;
}

}  // namespace sonde::record
