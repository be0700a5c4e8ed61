// How the recorder loads the OpenCL backend: as a layer of the ICD loader.
#include <filesystem>

#include "record/backend.h"

namespace sonde::record {

namespace {

Probe probe() {
  std::string loader;
  static constexpr const char* kNames[] = {"libOpenCL.so.1"};
  if (!find_library(kNames, &loader)) {
    return {false, "no OpenCL ICD loader (libOpenCL.so.1); Debian: ocl-icd-libopencl1"};
  }
  std::string vendors;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/etc/OpenCL/vendors", error)) {
    if (entry.path().extension() != ".icd") continue;
    vendors += (vendors.empty() ? "" : ", ") + entry.path().stem().string();
  }
  if (vendors.empty()) {
    return {false, "an ICD loader but no platform in /etc/OpenCL/vendors; Debian: pocl-opencl-icd"};
  }
  return {true, loader + " with " + vendors};
}

}  // namespace

Backend opencl_backend() {
  return {"opencl",
          "OpenCL calls, kernels and copies",
          "libsonde-opencl.so",
          {"OPENCL_LAYERS+={lib}/libsonde-opencl.so"},
          probe};
}

}  // namespace sonde::record
