#include "importers/rocprof/names.h"

#include "base/strings.h"
#include "importers/input/copy_type.h"

namespace sonde::importers {

std::string_view memory_op_type(std::string_view name) {
  return starts_with_any(name, {"Copy", "Fill"}) ? name : copy_type(name);
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
  if (symbol.size() > kSuffix.size() && symbol.ends_with(kSuffix)) {
    symbol.remove_suffix(kSuffix.size());
  }
  return symbol;
}

}  // namespace sonde::importers
