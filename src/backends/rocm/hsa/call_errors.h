// How the HIP part reports failed calls to the board.
#pragma once

#include <stdint.h>

namespace sonde::hsa {

// The memory arguments of a call; 0 if it has no such argument.
struct CallMemory {
  uint64_t to = 0, from = 0, bytes = 0;
  bool frees = false;  // the call frees `to`
};

// Does nothing if there is no board, or if the code is not an error. Does not keep `function`.
void note_call_error(const char* function, int code, const CallMemory& memory);

// For a function that returns the error of an earlier call, such as hipGetLastError: that call
// stays on the board. Where it is not known, the function is noted as if it had failed itself.
void note_repeated_error(const char* function, int code);

}  // namespace sonde::hsa
