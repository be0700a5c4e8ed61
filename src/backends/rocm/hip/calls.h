// Recording of HIP calls, whichever way the runtime reports them: begin, end, arguments, and what a
// copy was asked to do. Used by callbacks.cpp and table.cpp.
#pragma once

#include "backends/rocm/connection.h"
#include "backends/rocm/hip/functions.h"

namespace sonde::hip {

struct OpenCall {
  struct sonde_call call;
  rocm::Launch outer;  // of the enclosing call
};

// `data` contains the parameters at their offsets.
void begin_call(const FunctionInfo& function, uint32_t defined, OpenCall* open);
// Called once the parameters are available.
void look_at_parameters(const FunctionInfo& function, const char* data);
void end_call(const FunctionInfo* function, const char* data, int result, const OpenCall& open);
// The same for a function that is `by_value`, with the arguments as pack_values() returns them.
void end_packed_call(const FunctionInfo& function, const char* data, int result,
                     const OpenCall& open, const uint64_t* words, size_t count);

// Records a finished call that is not recorded `in_full`, with its ticks.
void record_light_call(const FunctionInfo& function, const char* data, int result, uint64_t begin,
                       uint64_t end);

}  // namespace sonde::hip
