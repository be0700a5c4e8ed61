// Field numbers and values of Perfetto's public .proto files that more than one part of the
// exporter writes.
#pragma once

#include <cstdint>

namespace sonde::exporting {

// TracePacket
constexpr uint32_t kTrackEvent = 11, kInternedData = 12, kTrackDescriptor = 60;
// TrackEvent
constexpr uint32_t kCategoryIids = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrackUuid = 11,
                   kName = 23, kFlow = 47, kTerminatingFlow = 48;
constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
// DebugAnnotation
constexpr uint32_t kAnnotationNameIid = 1, kAnnotationInt = 4, kAnnotationText = 6;
// TrackDescriptor
constexpr uint32_t kUuid = 1, kTrackName = 2, kParentUuid = 5;

enum class InternField : uint32_t {  // of InternedData
  kCategory = 1,
  kEventName = 2,
  kAnnotationName = 3,
  kFunctionName = 5,
  kFrame = 6,
  kCallStack = 7,
  kBuildId = 16,
  kMappingPath = 17,
  kSourcePath = 18,
  kMapping = 19,
  kGraphicsContext = 23,
  kGpuSpecification = 24,
  kStringValue = 29,
  kComputeKernel = 1000,
  kComputeArgName = 1001
};

}  // namespace sonde::exporting
