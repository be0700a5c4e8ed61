// What HIP's callbacks of any version share: the calls that a thread is in, which nest when the
// runtime or a callback of the program makes one, and what they ask of the runtime.
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

// A function that functions.inc lacks.
extern const FunctionInfo kOther;

// The runtime's name of a call's id; nullptr: it has no such function.
extern const char* (*g_name_of)(uint32_t id);
// Finds that and what result_of() asks for.
void find_answers(void* library);
// What the agent calls the function.
uint32_t defined_as(uint32_t id, const FunctionInfo& function);
// The result of the call that is about to return. The query for it is not recorded: it is not a
// call of the program.
int result_of(Frames* frames, const FunctionInfo& function);

}  // namespace sonde::hip
