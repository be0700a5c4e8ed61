// How the recorder loads the ITT backend: as the collector library of the ITT API.
#include "record/backend.h"

namespace sonde::record {

const Backend& itt_backend() {
  static const Backend kBackend = {
      "itt",
      "ITT tasks, frames and counters (oneDNN, TBB, OpenVINO ...)",
      "libsonde-itt.so",
      {"INTEL_LIBITTNOTIFY64?={lib}/libsonde-itt.so"},
      [] {
        return Probe{true, "ITT is part of the program; nothing else is needed"};
      }};
  return kBackend;
}

}  // namespace sonde::record
