// How the recorder loads the ROCTX backend: preloaded under ROCTX's own library name, and under all
// of its names on the library path.
#include "record/backend.h"

namespace sonde::record {

Backend roctx_backend() {
  return {"roctx",
          "ROCTX ranges and marks",
          "libsonde-roctx.so",
          {"LD_PRELOAD+={lib}/libsonde-roctx.so", "LD_LIBRARY_PATH+={lib}/roctx"},
          always("stands in for the ROCTX library; nothing else is needed")};
}

}  // namespace sonde::record
