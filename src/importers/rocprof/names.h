// What rocprofv3's tables, JSON and rocpd databases call things, in Sonde's words. Used by the
// importers of these three.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::importers {

// "MEMORY_COPY_HOST_TO_DEVICE", "HOST_TO_DEVICE" -> "CopyHostToDevice"; "CopyDeviceToHost2D" and
// "FillBuffer" stay; "Copy" for others.
std::string_view memory_op_type(std::string_view name);
// "HIP_RUNTIME_API_EXT" -> "hip", "MARKER_CORE_API" -> "roctx"; "" where the words say no API.
std::string_view domain_of_kind(std::string_view kind);
bool is_marker_kind(std::string_view kind);
// "kernel.kd" -> "kernel"
std::string_view kernel_name(std::string_view symbol);

}  // namespace sonde::importers
