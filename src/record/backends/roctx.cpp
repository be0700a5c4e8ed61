// How the recorder loads the ROCTX backend: preloaded under ROCTX's own library name, and under all
// of its names on the library path.
#include "record/backend.h"

namespace sonde::record {

const Backend& roctx_backend() {
  static const Backend kBackend = {
      "roctx",
      "ROCTX ranges and marks",
      "libsonde-roctx.so",
      {"LD_PRELOAD+={lib}/libsonde-roctx.so", "LD_LIBRARY_PATH+={lib}/roctx"},
      [] {
        return Probe{true, "stands in for the ROCTX library; nothing else is needed"};
      }};
  return kBackend;
}

}  // namespace sonde::record
