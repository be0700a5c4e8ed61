// How the recorder loads the NVTX backend: by the injection variable of NVTX v3.
#include "record/backend.h"

namespace sonde::record {

Backend nvtx_backend() {
  return {"nvtx",
          "NVTX v3 ranges and marks",
          "libsonde-nvtx.so",
          {"NVTX_INJECTION64_PATH?={lib}/libsonde-nvtx.so"},
          always("NVTX v3 is part of the program; nothing else is needed")};
}

}  // namespace sonde::record
