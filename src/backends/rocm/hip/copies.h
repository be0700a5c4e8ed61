// What a call that copies was asked to do: one description per call, however many ops the runtime
// turns it into, with the size that the program gave.
#pragma once

#include "backends/rocm/hip/functions.h"

namespace sonde::hip {

bool is_copy_described(const FunctionInfo& function);
inline bool describes_copy(const FunctionInfo& function) {
  return function.category == Category::copy && is_copy_described(function);
}
void describe_copy(const FunctionInfo& function, const char* data, uint64_t correlation);

}  // namespace sonde::hip
