// The HIP calls that a thread is in. Calls nest when the runtime or a callback of the program makes
// one.
#pragma once

#include "backends/rocm/hip/calls.h"
#include "backends/rocm/hip/hip_abi.h"

namespace sonde::hip {

struct Frame {
  alignas(16) char data[kDataBytes];  // hip_api_data_t
  OpenCall open;
};
constexpr uint32_t kMaxDepth = 8;
struct Frames {
  uint32_t depth;  // may exceed kMaxDepth: those calls are counted and not recorded
  bool asking;     // a call of ours is in progress
  Frame frames[kMaxDepth];
};

// This thread's, or nullptr without memory.
Frames* this_thread();

}  // namespace sonde::hip
