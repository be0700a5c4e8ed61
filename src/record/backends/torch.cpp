// How the recorder loads the PyTorch backend: by a sitecustomize.py in front of PYTHONPATH, which
// waits for `import torch`.
#include <filesystem>

#include "record/backend.h"

namespace sonde::record {

Backend torch_backend() {
  return {"torch",
          "PyTorch operators, user scopes and modules",
          "start/sitecustomize.py",
          {"PYTHONPATH+={lib}/start"},
          [] {
            std::error_code error;
            const bool native =
                std::filesystem::exists(library_folder() + "/libsonde-torch.so", error);
            return Probe{true,
                         native ? "through RecordFunction where the program has the libtorch "
                                  "that Sonde was built with; else with SONDE_TORCH=python"
                                : "operators with SONDE_TORCH=python only: Sonde was built without "
                                  "libtorch-dev"};
          }};
}

}  // namespace sonde::record
