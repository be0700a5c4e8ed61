// How the recorder loads the tracer of Python calls: by the sitecustomize.py in front of PYTHONPATH
// that the PyTorch backend uses too, and only with `sonde record --python-trace`.
#include "record/backend.h"

namespace sonde::record {

Backend python_backend() {
  return {"python",
          "every call of Python code, with --python-trace",
          "libsonde-python.so",
          {"PYTHONPATH+={lib}/start"},
          always("CPython 3.8 and later")};
}

}  // namespace sonde::record
