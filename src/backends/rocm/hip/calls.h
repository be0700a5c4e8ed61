// Recording of HIP calls, whichever way the runtime tells of them: begin, end, the arguments, and
// what a copy was asked to do. Used by callbacks.cpp and table.cpp.
#pragma once

#include "backends/rocm/connection.h"
#include "backends/rocm/hip/functions.h"

namespace sonde::hip {

struct OpenCall {
  struct sonde_call call;
  rocm::Launch outer;  // of the call that this one is made from
};

// `data` is where the parameters lie, by their offsets.
void begin_call(const FunctionInfo& function, uint32_t defined, OpenCall* open);
// Once the parameters are there.
void look_at_parameters(const FunctionInfo& function, const char* data);
void end_call(const FunctionInfo* function, const char* data, int result, const OpenCall& open);
// Likewise with the arguments as pack_values() has them, of a function that is `by_value`.
void end_packed_call(const FunctionInfo& function, const char* data, int result,
                     const OpenCall& open, const uint64_t* words, size_t count);

// All of it for a call that is not recorded in full, once it is over; with its ticks.
void record_light_call(const FunctionInfo& function, const char* data, int result, uint64_t begin,
                       uint64_t end);

}  // namespace sonde::hip
