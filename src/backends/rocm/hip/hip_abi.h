// The HIP runtime's interfaces for tools, declared from the facts of its public headers
// (hip_prof_str.h, hip_runtime_prof.h and prof_protocol.h of ROCm 5.2 to 7.0). Used by
// callbacks.cpp and activity.cpp.
#pragma once

#include <stdint.h>

namespace sonde::hip {

constexpr uint32_t kPhaseEnter = 0;
constexpr uint32_t kDomainOps = 2;
constexpr uint32_t kDomainApi = 3;
constexpr uint32_t kFirstId = 3;  // 1 and 2 are the calls that the compiler emits for <<<...>>>
constexpr uint32_t kProfilerStart52 = 183, kProfilerStop52 = 184;
constexpr uint32_t kLastId52 = 333;  // HIP_API_ID_LAST of ROCm 5.2

// How hip_api_data_t begins in every version; the arguments follow.
struct ApiData {
  uint64_t correlation;
  uint32_t phase;
  uint32_t padding;
};
constexpr uint32_t kArguments = 16;
constexpr uint32_t kDataBytes = 2048;  // more than any version's data (1520 in ROCm 6.2)

enum OpId : uint32_t { kOpDispatch = 0, kOpCopy = 1, kOpBarrier = 2, kOpIds = 3 };

enum CommandKind : uint32_t {
  kCommandKernel = 0x11F0,
  kCommandReadBuffer = 0x11F3,
  kCommandWriteBuffer = 0x11F4,
  kCommandCopyBuffer = 0x11F5,
  kCommandMarker = 0x11FE,
  kCommandReadRect = 0x1201,
  kCommandWriteRect = 0x1202,
  kCommandCopyRect = 0x1203,
  kCommandBarrier = 0x1205,
  kCommandFill = 0x1207,
};

struct ActivityRecord {
  uint32_t domain;
  uint32_t kind;
  uint32_t op;
  uint32_t padding;
  uint64_t correlation;
  uint64_t begin_ns, end_ns;
  int32_t device;
  int32_t padding2;
  uint64_t queue;
  union {
    uint64_t bytes;
    const char* kernel_name;  // from ROCm 5.3.3 on
  };
};
static_assert(sizeof(ActivityRecord) == 64);

// ROCm 5.2 and before.
using RegisterCallback = int (*)(uint32_t id, void* callback, void* arg);
using InitActivity = void (*)(void* id_callback, void* op_callback, void* arg);
using EnableActivity = bool (*)(uint32_t op, bool enable);

// ROCm 5.3.1 to 7. What follows hip_api_data_t in a call's data. Not initialised by the runtime.
struct TracerTail {
  uint64_t enter_timestamp;
  uint64_t phase_data;
  void (*phase_enter)(uint32_t id, void* data);
  void (*phase_exit)(uint32_t id, void* data);
};
using TracerCallback = int (*)(uint32_t domain, uint32_t operation, void* data);
using RegisterTracer = void (*)(TracerCallback callback);

}  // namespace sonde::hip
