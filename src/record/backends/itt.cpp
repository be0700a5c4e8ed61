// How the recorder loads the ITT backend: as the collector library of the ITT API.
#include "record/backend.h"

namespace sonde::record {

Backend itt_backend() {
  return {"itt",
          "ITT tasks, frames and counters (oneDNN, TBB, OpenVINO ...)",
          "libsonde-itt.so",
          {"INTEL_LIBITTNOTIFY64?={lib}/libsonde-itt.so"},
          always("ITT is part of the program; nothing else is needed")};
}

}  // namespace sonde::record
