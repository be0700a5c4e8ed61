#include "importers/rocprof/names.h"

#include "base/strings.h"

namespace sonde::importers {

std::string_view copy_type(std::string_view direction) {
  const auto says = [&](std::string_view word) {
    return direction.find(word) != std::string_view::npos;
  };
  if (says("HOST_TO_DEVICE")) return "CopyHostToDevice";
  if (says("DEVICE_TO_HOST")) return "CopyDeviceToHost";
  if (says("DEVICE_TO_DEVICE")) return "CopyDeviceToDevice";
  if (says("HOST_TO_HOST")) return "CopyHostToHost";
  return direction.substr(0, 4) == "Copy" || direction.substr(0, 4) == "Fill" ? direction : "Copy";
}

std::string_view domain_of_kind(std::string_view kind) {
  if (starts_with_any(kind, {"HIP"})) return "hip";
  if (starts_with_any(kind, {"HSA"})) return "hsa";
  if (starts_with_any(kind, {"MARKER"})) return "roctx";
  if (starts_with_any(kind, {"RCCL"})) return "rccl";
  if (starts_with_any(kind, {"ROCDECODE"})) return "rocdecode";
  if (starts_with_any(kind, {"ROCJPEG"})) return "rocjpeg";
  if (starts_with_any(kind, {"OPENCL"})) return "opencl";
  return {};
}

bool is_marker_kind(std::string_view kind) { return starts_with_any(kind, {"MARKER"}); }

std::string_view kernel_name(std::string_view symbol) {
  constexpr std::string_view kSuffix = ".kd";
  if (symbol.size() > kSuffix.size() && symbol.substr(symbol.size() - kSuffix.size()) == kSuffix) {
    symbol.remove_suffix(kSuffix.size());
  }
  return symbol;
}

}  // namespace sonde::importers
