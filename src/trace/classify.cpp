#include <cctype>

#include "base/strings.h"
#include "trace/trace.h"

namespace sonde::trace {

OpClass class_of_type_name(std::string_view type) {
  if (type == "KernelExecution") return OpClass::kKernel;
  const bool memory = starts_with_any(type, {"Copy", "Fill", "Map", "Unmap", "Migrate"});
  if (memory) return OpClass::kMemory;
  const bool sync = type == "Barrier" || type == "Marker" || type == "NativeKernel" ||
                    type == "Other";  // what a backend calls other has a name, but is no kernel
  return sync ? OpClass::kSync : OpClass::kOther;
}

namespace {

// "clFinish", "cuLaunch": a prefix followed by a capital.
bool has_prefix_before_capital(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.substr(0, prefix.size()) == prefix &&
         std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0;
}

}  // namespace

std::string domain_of_api(std::string_view function) {
  if (function == "UserMarker" || starts_with_any(function, {"roctx"})) return "roctx";
  if (has_prefix_before_capital(function, "hip") || starts_with_any(function, {"__hip"})) {
    return "hip";
  }
  if (starts_with_any(function, {"hsa_"})) return "hsa";
  if (has_prefix_before_capital(function, "cl")) return "opencl";
  if (has_prefix_before_capital(function, "cuda") || has_prefix_before_capital(function, "cu")) {
    return "cuda";
  }
  if (has_prefix_before_capital(function, "nccl")) return "rccl";
  return "";
}

}  // namespace sonde::trace
